"""Running stored tasks: what is ready, in this process, where its tool is registered."""

from __future__ import annotations

import _thread
import dataclasses
from typing import TYPE_CHECKING

from ..clock import micros
from ..dispatch import Runner, Seat, Wiring, bound, carry_out, following
from ..errors import AXError
from ..model import TaskRow, Verdict
from ..store import queries, runs
from .rollback import rolling_back

if TYPE_CHECKING:
    from .ax import AX
    from .core import Core

LOOK_AGAIN = 0.25
ROLLBACKS_EVERY = 2.0


class Serving:
    """``with ax.serve():`` runs ready tasks in the background; ``ax.serve().forever()`` runs them in the foreground."""

    def __init__(self, ax: AX, core: Core, ns: str, concurrency: int) -> None:
        self._core, self._ns, self._concurrency = core, ns, concurrency
        self._stopped = False
        self._taken: set[str] = set()
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
        for row in wiring.db.read(lambda tx: queries.runnable(tx, self._ns, now, 10 * self._concurrency)):
            if started >= room:
                break
            if row.id in self._taken or (runner := runner_of(self._core, row)) is None:
                continue
            if row.attempt_open and row.effect != "read":
                continue
            self._taken.add(row.id)
            started += 1
            self._core.threads.spawn(lambda row=row, runner=runner: self._run(row, runner, wiring))  # type: ignore[misc]
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

    def _run(self, row: TaskRow, runner: Runner, wiring: Wiring) -> None:
        try:
            carry_out(following(Seat(row, how="attached"), runner, wiring, 0.0, detached=True), wiring)
        except AXError:
            pass  # its verdict is on record, for whoever asks
        except Exception as error:
            self._core.hooks.complain(f"task {row.id} ({row.tool}) could not be run", error)
        finally:
            self._taken.discard(row.id)
            if self._idle.locked():
                try:
                    self._idle.release()
                except RuntimeError:
                    pass


def runner_of(core: Core, row: TaskRow) -> Runner | None:
    """What this process can run a stored task with; None: its tool lives in its caller, or elsewhere."""
    tool = core.registry.find(row.tool)
    if tool is None or (tool.validated_elsewhere and tool.apart is None):
        return None
    if core.post is not None and core.post.is_for_workers(tool) is not core.post.serving:
        return None
    limit = None if tool.policy.timeout is None else micros(tool.policy.timeout)
    return Runner(tool, tool.apart or bound(tool), limit)


def run_approved(core: Core, wiring: Wiring, row: TaskRow, verdict: Verdict) -> Verdict:
    """Run a just approved task at once where its policy says so and its tool is registered here."""
    runner = runner_of(core, row)
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
