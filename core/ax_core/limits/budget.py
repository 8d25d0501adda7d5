"""The budget of a run: reserved in guarded UPDATEs, over the whole line of runs it stands in."""

from __future__ import annotations

from ..clock import Micros
from ..errors import AXError, BudgetExceeded, TaskCancelled, TaskDead
from ..model import RunRow
from ..states import Reason, RunState
from ..store import Tx, runs
from ..store.runs import ONE_TASK, Draw

REFUSED_PER_TASK = 4
"""Refused and invalid submissions have a cap of their own: this many times the run's tasks."""


def reserve(tx: Tx, line: list[RunRow], now: Micros, draw: Draw = ONE_TASK) -> AXError | None:
    """Take ``draw`` from every budget that a call counts against, or from none of them and say why."""
    for done, row in enumerate(line):
        refused: AXError | None = check_deadline(row, now)
        if refused is not None:
            _count_refusal(tx, row, now)
        elif runs.reserve(tx, row.id, draw):
            continue
        else:
            refused = _why(tx, row, now, draw)
        for taken in line[:done]:
            runs.refund(tx, taken.id, draw)
        return refused
    return None


def give_back(tx: Tx, run_id: str) -> None:
    """Refund a task that never ran, along the line of its run."""
    for row in runs.line(tx, run_id):
        runs.refund(tx, row.id)


def check_deadline(row: RunRow, now: Micros) -> BudgetExceeded | None:
    """Refuse what comes after the run's wall time."""
    # While only people are waited for, the clock of a run stands.
    if row.deadline_at is None or (now if row.paused_at is None else row.paused_at) < row.deadline_at:
        return None
    return _exceeded(row, f"its {(row.seconds or 0) / 1e6:g} s of wall time are over")


def refuse(tx: Tx, line: list[RunRow], now: Micros) -> AXError | None:
    """Count an invalid submission; past the cap the run is over."""
    for row in line:
        runs.refuse(tx, row.id)
        if row.max_tasks is not None and row.refused + 1 > REFUSED_PER_TASK * max(row.max_tasks, 1):
            if row.state == RunState.OPEN:
                _end(tx, row, now)
            return _exceeded(row, f"it had {row.refused + 1} refused or invalid submissions")
    return None


def _why(tx: Tx, row: RunRow, now: Micros, draw: Draw) -> AXError:
    fresh = runs.get(tx, row.id) or row
    if fresh.state == RunState.CANCELLED:
        return TaskCancelled(
            f"run {fresh.id} was cancelled", for_model="The request was cancelled. Nothing was done; stop."
        )
    if fresh.state == RunState.DEAD and fresh.reason != Reason.BUDGET:
        return TaskDead(
            f"run {fresh.id} has ended ({fresh.reason})", for_model="This request has been ended. Stop."
        )
    if fresh.state not in (RunState.OPEN, RunState.DEAD):
        return TaskDead(
            f"run {fresh.id} is {fresh.state}: enter it again by its key before calling tools in it"
        )
    _count_refusal(tx, fresh, now)
    if fresh.max_rounds is not None and fresh.used_rounds + draw.rounds > fresh.max_rounds:
        return _exceeded(fresh, f"it used its {fresh.max_rounds} decision rounds")
    if fresh.max_cost is not None and fresh.used_cost + draw.cost > fresh.max_cost:
        return _exceeded(
            fresh,
            f"it used {fresh.used_cost} of its {fresh.max_cost} cost units, and {draw.cost} more were asked",
        )
    return _exceeded(fresh, f"it used its {fresh.max_tasks} tasks")


def _count_refusal(tx: Tx, row: RunRow, now: Micros) -> None:
    runs.refuse(tx, row.id)
    if row.state == RunState.OPEN:
        _end(tx, row, now)


def _end(tx: Tx, row: RunRow, now: Micros) -> None:
    # Open siblings may still finish; the run is dead once they have.
    left = {
        state: n
        for state, n in runs.unfinished(tx, row.id).items()
        if state in ("RUNNING", "RETRY_WAIT", "QUEUED")
    }
    if left:
        runs.alter(tx, row.id, reason=Reason.BUDGET.value)
    else:
        runs.move(tx, row, RunState.DEAD, now, Reason.BUDGET)


def _exceeded(row: RunRow, why: str) -> BudgetExceeded:
    return BudgetExceeded(
        f"run {row.id} may do no more: {why} (ax.extend lets it go on)",
        for_model=f"Refused, nothing was done: the budget of this request is used up ({why}). "
        "Do not call tools again; answer with what you have.",
    )
