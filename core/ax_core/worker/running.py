"""Running one task in a worker: claimed under the guards of every claim, carried out by the hands of every call."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from ..app.serve import runner_of
from ..dispatch import Runner, Seat, acarry_out, carry_out, following
from ..errors import AXError
from ..model import TaskRow
from ..states import State
from ..store import tasks

if TYPE_CHECKING:
    from ..app.core import Core
    from .cells import Cells

READY = frozenset({State.QUEUED, State.RETRY_WAIT, State.WAITING, State.RUNNING})


class Found(NamedTuple):
    """A task as it stands, and what to run it with; None: it is not to be run, or not here."""

    row: TaskRow
    runner: Runner | None


class Running:
    """Runs stored tasks: those of plain tools on the thread that asks, those of async tools on one event loop."""

    def __init__(self, core: Core, cells: Cells | None = None) -> None:
        self.core, self._cells = core, cells
        self._loop: asyncio.AbstractEventLoop | None = None
        self._starting = threading.Lock()

    def run(self, task_id: str, ns: str) -> TaskRow | None:
        """See a task as far as this worker can; the row as it then stands.

        None: no such task. A tool that is not known here leaves it as it is, for a worker that knows it.
        """
        found = self.find(task_id, ns)
        return None if found is None else self.attempt(found)

    def find(self, task_id: str, ns: str) -> Found | None:
        """A task, and what to run it with."""
        row = self.core.wiring(ns).db.read(lambda tx: tasks.get(tx, task_id))
        if row is None or row.ns != ns or row.state not in READY:
            return None if row is None else Found(row, None)
        runner = runner_of(self.core, row)
        if runner is None:
            self._say_unknown(row)
        return Found(row, runner)

    def attempt(self, found: Found) -> TaskRow:
        """Make one attempt, if it may still be made; the row as it then stands.

        Raises:
            CellFailed: it needs a process of its own, which cannot be started; nothing was claimed.
        """
        row, runner = found
        if runner is None:
            return row
        _cut(runner, row)
        wiring = self.core.wiring(row.ns)
        steps = following(Seat(row, how="attached"), runner, wiring, 0.0, detached=True, once=True)
        cells = self._cells if runner.tool.policy.isolation == "process" else None
        with nullcontext() if cells is None else cells.ready_for(row.id):
            try:
                if runner.is_async:
                    return cast(TaskRow, self.on_loop(acarry_out(steps, wiring)).row)
                return carry_out(steps, wiring).row
            except AXError:
                pass  # its verdict is on record, for whoever asks
            except Exception as error:
                self.core.hooks.complain(f"task {row.id} ({row.tool}) could not be run", error)
        return wiring.db.read(lambda tx: tasks.get(tx, row.id)) or row

    def on_loop(self, coroutine: Coroutine[Any, Any, Any]) -> Any:
        """Run a coroutine on the event loop of the async tools, and wait for it."""
        return asyncio.run_coroutine_threadsafe(coroutine, self._its_loop()).result()

    def close(self) -> None:
        """Stop the event loop; what still runs on it is cut off."""
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._loop.stop)

    def _its_loop(self) -> asyncio.AbstractEventLoop:
        with self._starting:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self.core.threads.spawn(self._loop.run_forever)
            return self._loop

    def _say_unknown(self, row: TaskRow) -> None:
        known = self.core.registry.find(row.tool)
        why = "is not known here" if known is None else "does not run in workers"
        self.core.hooks.log_once(
            f"tool {row.tool!r} {why}: its tasks wait for a process that runs it (first seen: task {row.id})"
        )


def _cut(runner: Runner, row: TaskRow) -> None:
    """The caller's own limit for the body, which the task carries as a time after its beginning."""
    if row.deadline_at is None:
        return
    limit: Any = row.deadline_at - (row.started_at or row.created_at)
    runner.timeout = limit if runner.timeout is None else min(limit, runner.timeout)
