"""Running stored tasks: what is ready, in this process, where its tool is registered."""

from __future__ import annotations

import _thread
import dataclasses
from functools import partial
from typing import TYPE_CHECKING

from ..clock import micros
from ..dispatch import Runner, Seat, Wiring, bound, carry_out, following
from ..errors import AXError
from ..model import TaskRow, Verdict
from ..store import runs, tasks
from ..store.ready import Ready, Search
from .rollback import rolling_back

if TYPE_CHECKING:
    from .ax import AX
    from .core import Core

LOOK_AGAIN = 0.25
PART, PARTS = 200, 10
"""Tasks in one look, and looks in one round at most: the next round goes on behind what is not to be run here."""
ROLLBACKS_EVERY = 2.0


class Serving:
    """``with ax.serve():`` runs ready tasks in the background; ``ax.serve().forever()`` runs them in the foreground."""

    def __init__(self, ax: AX, core: Core, ns: str, concurrency: int) -> None:
        self._core, self._ns, self._concurrency = core, ns, concurrency
        self._stopped = False
        self._taken: set[str] = set()
        self._search = Search(PART, ns)
        self._next_rollbacks = 0.0
        self._idle = _thread.allocate_lock()
        self._idle.acquire()

    def __enter__(self) -> Serving:
        self._core.wiring(self._ns)
        self._core.threads.spawn(self.forever)
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        """Take nothing more."""
        self._stopped = True
        if self._idle.locked():
            self._idle.release()

    def forever(self) -> None:
        """Run what is ready until :meth:`stop` or the end of the process."""
        while not self._stopped and not self._core.closed:
            if not self.round():
                self._idle.acquire(timeout=LOOK_AGAIN)

    def round(self) -> int:
        """Start what is ready, as far as there is room; how many were started."""
        wiring, now = self._core.wiring(self._ns), self._core.clock.now()
        room = self._concurrency - len(self._taken)
        if room <= 0:
            return 0
        started = self._roll_back(wiring)

        def start(row: Ready) -> bool:
            nonlocal started
            if started >= room:
                return False
            if row.id not in self._taken and (runner := runner_of(self._core, row.tool)) is not None:
                self._taken.add(row.id)
                started += 1
                self._core.threads.spawn(partial(self._run, row.id, runner, wiring))
            return True

        for _ in range(PARTS):
            self._search.look(wiring.db, now, start)
            if started or not self._search.midway:
                self._search.begin_anew()  # the oldest first; only what is not for here is passed over
                break
        return started

    def _roll_back(self, wiring: Wiring) -> int:
        """Go on with rollbacks that an operator began elsewhere."""
        if wiring.clock.monotonic() < self._next_rollbacks:
            return 0
        self._next_rollbacks = wiring.clock.monotonic() + ROLLBACKS_EVERY
        found = wiring.db.read(runs.rolling_back)
        waiting = [run_id for ns, run_id in found if ns == self._ns and run_id not in self._taken]
        for run_id in waiting:
            self._taken.add(run_id)
            self._core.threads.spawn(lambda run_id=run_id: self._finish(run_id, wiring))  # type: ignore[misc]
        return len(waiting)

    def _finish(self, run_id: str, wiring: Wiring) -> None:
        try:
            carry_out(rolling_back(self._core, wiring, run_id, "serve"), wiring)
        except AXError as error:
            self._core.hooks.complain(f"the rollback of run {run_id} could not go on", error)
        finally:
            self._taken.discard(run_id)

    def _run(self, task_id: str, runner: Runner, wiring: Wiring) -> None:
        try:
            row = wiring.db.read(lambda tx: tasks.look(tx, task_id))
            assert row is not None
            carry_out(following(Seat(row, how="attached"), runner, wiring, 0.0, detached=True), wiring)
        except AXError:
            pass  # its verdict is on record, for whoever asks
        except Exception as error:
            self._core.hooks.complain(f"task {task_id} ({runner.tool.name}) could not be run", error)
        finally:
            self._taken.discard(task_id)
            if self._idle.locked():
                try:
                    self._idle.release()
                except RuntimeError:
                    pass


def runner_of(core: Core, name: str) -> Runner | None:
    """What this process can run stored tasks of a tool with; None: it lives in their callers, or elsewhere."""
    tool = core.registry.find(name)
    if tool is None or (tool.validated_elsewhere and tool.apart is None):
        return None
    if core.post is not None and core.post.is_for_workers(tool) is not core.post.serving:
        return None
    limit = None if tool.policy.timeout is None else micros(tool.policy.timeout)
    return Runner(tool, tool.apart or bound(tool), limit)


def run_approved(core: Core, wiring: Wiring, row: TaskRow, verdict: Verdict) -> Verdict:
    """Run a just approved task at once where its policy says so and its tool is registered here."""
    runner = runner_of(core, row.tool)
    if runner is None or not runner.tool.policy.run_on_confirm:
        return verdict

    def work() -> None:
        try:
            carry_out(following(Seat(row, how="attached"), runner, wiring, core.settings.wait), wiring)
        except AXError:
            pass

    core.threads.spawn(work)
    return dataclasses.replace(
        verdict, message=f"{verdict.message.partition(';')[0]}; it runs now, in this process"
    )
