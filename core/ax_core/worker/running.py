"""Running tasks in a worker: claimed under the guards of every claim, carried out by the steps of every call."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any

from ..app.serve import runner_of
from ..dispatch import Runner, Seat, Wiring, acarry_out, following
from ..dispatch.claim import claim_seen
from ..dispatch.handover import Handover
from ..errors import AXError, StoreError
from ..model import TaskRow
from ..policy import Effect
from ..states import State
from ..store import Alone, Tx, tasks, tools
from .deadlines import PassingDeadlines
from .relay import Relay
from .tool_loop import ToolLoop

if TYPE_CHECKING:
    from ..app.core import Core
    from .cells import Cells

READY = frozenset({State.QUEUED, State.RETRY_WAIT, State.WAITING, State.RUNNING})
Over = Callable[[TaskRow | None, bool], None]
"""Told how a task stands when this worker has done what it can (None: there is none), and whether that is certain."""


@dataclass(frozen=True, slots=True)
class Begun:
    """A task that this worker looked at; ``runner`` None: there is nothing that it can do."""

    row: TaskRow | None
    seat: Seat | None = None
    runner: Runner | None = None


class Running:
    """Runs stored tasks: those of plain tools on the thread that asks, those of async tools on one event loop.

    Attributes:
        relay: the threads that what follows a wait runs on.
        loop: that of the async tools.

    Args:
        queues: those of tools that go by other queues are left to others; None: whatever is asked for.
    """

    def __init__(self, core: Core, cells: Cells | None = None, queues: Collection[str] | None = None) -> None:
        self.core, self._cells, self._queues = core, cells, queues
        self._starting = threading.Lock()
        self._deadlines: PassingDeadlines | None = None
        self.relay = Relay(core.threads)
        self.loop = ToolLoop(core.threads, self.relay)

    def look(self, task_ids: Sequence[str], ns: str) -> list[Begun]:
        """How these tasks stand, and what to run them with; in their order.

        One whose tool is not known here is left as it is, for a worker that knows it.
        """
        wiring = self.core.wiring(ns)
        found = {row.id: row for row in wiring.db.read(Alone(lambda tx: tasks.several(tx, task_ids)))}
        return [self._looked_at(found.get(task_id), ns) for task_id in task_ids]

    def claim(self, looked_at: Sequence[Begun], ns: str) -> list[Begun]:
        """Claim those of these tasks that are ready, in one commit; in their order."""
        ready = [(b.row, b.runner) for b in looked_at if b.row is not None and b.runner is not None]
        seats = iter(self._seats(ready, self.core.wiring(ns)))
        return [b if b.row is None or b.runner is None else replace(b, seat=next(seats)) for b in looked_at]

    def attempt(self, looked_at: Begun, ns: str, over: Over) -> None:
        """Claim a task and see it through, in a process of its own where its tool wants one, which is ready before.

        Raises:
            CellFailed: it cannot be started; nothing was claimed.
        """
        row, runner = looked_at.row, looked_at.runner
        cells = None if runner is None or runner.tool.policy.isolation != "process" else self._cells
        with nullcontext() if cells is None or row is None else cells.ready_for(row.id):
            self.see(self.claim([looked_at], ns)[0], ns, over)

    def _looked_at(self, row: TaskRow | None, ns: str) -> Begun:
        if row is None or row.ns != ns or row.state not in READY:
            return Begun(row)
        runner = runner_of(self.core, row.tool)
        if runner is None:
            self._say_unknown(row)
        elif self._queues is not None and (queue := runner.tool.policy.queue) not in self._queues:
            self.core.hooks.log_once(
                f"tool {row.tool!r} goes by the queue {queue!r}, which is not served here: its tasks wait for a worker "
                f"that serves it (first seen: task {row.id})"
            )
            return Begun(row)
        else:
            _cut(runner, row)
        return Begun(row, None, runner)

    def _seats(self, ready: list[tuple[TaskRow, Runner]], wiring: Wiring) -> list[Seat]:
        def op(tx: Tx) -> list[Seat]:
            paused = tools.all_paused(tx, wiring.ns)
            # In the order of their ids, as everybody locks several rows.
            seen = [(row, runner.tool, runner.timeout) for row, runner in sorted(ready, key=_by_id)]
            seats = dict(
                zip([row.id for row, _, _ in seen], claim_seen(tx, seen, wiring, paused), strict=True)
            )
            return [seats[row.id] for row, _ in ready]

        if not ready:
            return []
        durable = any(row.effect != Effect.READ for row, _ in ready)
        try:
            return wiring.db.write(op, "claim", durable)
        except Exception:  # each finds out for itself whether it was the reason
            return [Seat(row, how="attached") for row, _ in ready]

    def run(self, task_id: str, ns: str) -> TaskRow | None:
        """Claim a task and see it through, on this thread; how it then stands."""
        told: SimpleQueue[TaskRow | None] = SimpleQueue()
        self.see(self.claim(self.look([task_id], ns), ns)[0], ns, lambda row, certain: told.put(row))
        return told.get()

    def see(self, begun: Begun, ns: str, over: Over) -> None:
        """See a task as far as this worker can, and tell ``over`` how it then stands, here or on another thread."""
        if begun.seat is None or begun.runner is None:
            over(begun.row, True)
            return
        wiring = self.core.wiring(ns)
        steps = following(begun.seat, begun.runner, wiring, 0.0, detached=True, once=True)
        ended = partial(self._ended, begun, wiring, over)
        if begun.runner.is_async:
            self.loop.begin(acarry_out(steps, wiring), ended)
        else:
            Handover(steps, wiring, self._deadlines_of(), self.relay.add, ended).begin()

    def _ended(
        self, begun: Begun, wiring: Wiring, over: Over, answer: Any, error: BaseException | None
    ) -> None:
        row = begun.row
        assert row is not None
        if error is None:
            over(answer.row, True)
            return
        if not isinstance(error, AXError):  # else its verdict is on record, for whoever asks
            self.core.hooks.complain(f"task {row.id} ({row.tool}) could not be run", error)
        elif isinstance(error, StoreError):  # nobody may be waiting, and this one is for an operator
            self.core.hooks.log_once(str(error))
        try:
            fresh = wiring.db.read(lambda tx: tasks.get(tx, row.id))
        except Exception as away:
            self.core.hooks.complain(f"task {row.id} could not be run", away)
            over(row, False)
        else:
            over(fresh, True)

    def close(self) -> None:
        """Stop the event loop; what still runs on it is cut off."""
        self.loop.stop()
        if self._deadlines is not None:
            self._deadlines.stop()

    def _deadlines_of(self) -> PassingDeadlines:
        with self._starting:
            if self._deadlines is None:
                self._deadlines = PassingDeadlines(self.core.clock)
                self.core.threads.spawn(self._deadlines.run)
            return self._deadlines

    def _say_unknown(self, row: TaskRow) -> None:
        known = self.core.registry.find(row.tool)
        why = "is not known here" if known is None else "does not run in workers"
        self.core.hooks.log_once(
            f"tool {row.tool!r} {why}: its tasks wait for a process that runs it (first seen: task {row.id})"
        )


def _by_id(ready: tuple[TaskRow, Runner]) -> str:
    return ready[0].id


def _cut(runner: Runner, row: TaskRow) -> None:
    """The caller's own limit for the body, which the task carries as a time after its beginning."""
    if row.deadline_at is None:
        return
    limit: Any = row.deadline_at - (row.started_at or row.created_at)
    runner.timeout = limit if runner.timeout is None else min(limit, runner.timeout)
