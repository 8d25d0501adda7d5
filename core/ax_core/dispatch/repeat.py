"""The repeat guard at work: the model is told, and then the run is over."""

from __future__ import annotations

from ..errors import AXError, BudgetExceeded
from ..limits import Repeats, repeats, replays
from ..model import TaskRow
from ..policy import Effect
from ..states import Reason, RunState
from ..store import Tx, runs
from .wiring import Wiring


def guarded(
    tx: Tx, row: TaskRow, effect: Effect, wiring: Wiring, run_id: str, *, replayed: bool = False
) -> tuple[str | None, AXError | None]:
    """(what to tell the model, what ends the call): judged on what equal calls of the task's run came to.

    Args:
        run_id: the caller's run, which ends with the call.
        replayed: it is the same request once more.
    """
    tool = wiring.registry.find(row.tool)
    if tool is not None and tool.policy.pollable:
        return None, None
    seen: Repeats | None = replays(row) if replayed else repeats(tx, row.run_id, row.fingerprint, effect)
    if seen is None or not seen.told:
        return None, None
    if not seen.over:
        return (
            f"You have now called {row.tool} {seen.count} times with the same arguments and got the same answer. "
            "Calling it again will not change it: use what you have, or do something else."
        ), None
    _end_run(tx, row.but(run_id=run_id))
    return None, BudgetExceeded(
        f"run {run_id} ended: {row.tool} was called {seen.count} times with equal arguments and results",
        task_id=row.id,
        for_model=f"Stopped: {row.tool} was called {seen.count} times with the same arguments and the same answer. "
        "Do not call tools again; answer with what you have.",
    )


def _end_run(tx: Tx, row: TaskRow) -> None:
    run, now = runs.get(tx, row.run_id), row.ended_at or row.created_at
    if run is not None:
        if run.state in (RunState.OPEN, RunState.PAUSED):
            runs.move(tx, run, RunState.DEAD, now, Reason.REPEAT_GUARD)
        return
    # An implicit run has no row; this one only says that it is over.
    runs.create(tx, runs.ended_implicit(row, RunState.DEAD, Reason.REPEAT_GUARD, now))
