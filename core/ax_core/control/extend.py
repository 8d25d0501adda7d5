"""Extend: more tasks or time for a run."""

from __future__ import annotations

from ..clock import Micros, micros
from ..errors import NotAllowed, UnknownTask
from ..model import Verdict
from ..states import Reason, RunState
from ..store import Tx, runs


def extend(tx: Tx, ns: str, run_id: str, by: str, now: Micros, *, more_tasks: int, seconds: float) -> Verdict:
    """Raise a run's budget; one that its budget ended is open again.

    Raises:
        UnknownTask: there is no opened run of that id.
        NotAllowed: nothing to add, or the run ended otherwise.
    """
    row = runs.get(tx, run_id)
    if row is None or row.ns != ns:
        raise UnknownTask(f"no opened run {run_id} (an implicit one has no budget)", task_id=run_id)
    if more_tasks < 0 or seconds < 0 or not (more_tasks or seconds):
        raise NotAllowed("extend adds tasks= or seconds=, each zero or more", task_id=run_id)
    changes: dict[str, int | None] = {}
    if more_tasks and row.max_tasks is not None:
        changes["max_tasks"] = row.max_tasks + more_tasks
    if seconds and row.deadline_at is not None:
        # The clock of a paused run stands, and goes on from there when it is entered again.
        changes["deadline_at"] = max(row.deadline_at, row.paused_at or now) + micros(seconds)
    if row.state == RunState.DEAD and row.reason in (Reason.BUDGET, Reason.REPEAT_GUARD):
        runs.move(tx, row, RunState.OPEN, now, None, **changes)
    elif row.state in (RunState.OPEN, RunState.PAUSED):
        runs.alter(tx, run_id, reason=None, **changes)
    else:
        raise NotAllowed(
            f"run {run_id} is {row.state} ({row.reason}): its budget is not what ended it", task_id=run_id
        )
    given = [f"{more_tasks} tasks" if more_tasks else "", f"{seconds:g} s" if seconds else ""]
    what = " and ".join(filter(None, given))
    return Verdict(True, run_id, RunState.OPEN, f"{by} gave it {what} more")
