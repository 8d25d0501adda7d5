"""Settling a doubt: by a person, by ``reconcile``, or by evidence that came late."""

from __future__ import annotations

from ..clock import Micros
from ..decide import DidNotHappen, Happened, Unknown
from ..errors import NotAllowed, UnknownTask
from ..model import TaskRow, Verdict
from ..sessions import settle as settle_run
from ..states import Reason, State
from ..store import Tx, attempts, tasks, transitions
from .decided import standing, state_of
from .tell import Tell


def resolve(
    tx: Tx,
    ns: str,
    task_id: str,
    by: str,
    now: Micros,
    tell: Tell,
    *,
    happened: bool,
    result: str | None = None,
    rerun: bool = False,
) -> Verdict:
    """A person says whether the effect happened.

    Happened: SUCCESS with ``result``. Did not: FAILED, so that the model may issue it anew, or with ``rerun``
    QUEUED again under the same key.

    Raises:
        UnknownTask: there is none of that id.
        NotAllowed: nothing about it is in doubt.
    """
    row = tasks.get(tx, task_id)
    if row is None or row.ns != ns:
        raise UnknownTask(f"no task {task_id}", task_id=task_id)
    if not in_doubt(row):
        if row.reason == Reason.RESOLVED:
            return Verdict(False, task_id, row.state, f"already resolved: it is {standing(tx, row)}")
        raise NotAllowed(
            f"task {task_id} ({row.tool}) is {row.state} ({row.reason or 'as it should be'}): nothing is in doubt",
            task_id=task_id,
        )
    if happened and rerun:
        raise NotAllowed("what happened is not run again: rerun= goes with happened=False", task_id=task_id)
    if rerun and row.attempt_open:
        raise NotAllowed(
            f"the attempt of task {task_id} has not been seen to end; it may still act. Resolve without rerun, or wait",
            task_id=task_id,
        )
    detail = {"happened": happened, "rerun": rerun, "by": by}
    if happened:
        step = transitions.settle(
            "resolve", State.SUCCESS, now, reason=Reason.RESOLVED, result=result or "null", detail=detail
        )
        message = f"{by} says it happened: SUCCESS, and it will not be run again"
    elif rerun:
        step = transitions.queue(
            "resolve", Reason.RESOLVED, detail, maybe_applied=0, error=None, interruptions=0
        )
        message = f"{by} says it did not happen: it runs again when its caller comes back, or in ax.serve()"
    elif row.state in (State.FAILED, State.CANCELLED):  # it stays what it is; only the doubt is over
        step = transitions.note("resolve", detail, reason=Reason.RESOLVED.value, maybe_applied=0)
        message = f"{by} says it did not happen: {row.state} without a doubt, and it may be issued anew"
    else:
        step = transitions.settle(
            "resolve", State.FAILED, now, reason=Reason.RESOLVED, closed=False, detail=detail
        )
        message = f"{by} says it did not happen: FAILED, and it may be issued anew"
    moved = tasks.move(tx, row, step, now, by, tell("resolved", happened=happened, by=by))
    if moved is None:
        raise NotAllowed(f"task {task_id} was moved while it was being resolved; look again", task_id=task_id)
    settle_run(tx, row.run_id, now)
    return Verdict(True, task_id, moved.state, message)


def in_doubt(row: TaskRow) -> bool:
    """Whether a person may say what happened."""
    state = state_of(row)
    if state is State.QUARANTINE:
        return row.reason == Reason.OUTCOME_UNKNOWN
    return bool(row.maybe_applied) or state is State.DEAD


def reconciled(
    tx: Tx,
    row: TaskRow,
    verdict: Happened | DidNotHappen | Unknown,
    result: str | None,
    now: Micros,
    tell: Tell,
) -> TaskRow | None:
    """The tool's own ``reconcile`` spoke about an attempt that is in doubt and closed."""
    match verdict:
        case Happened():
            told = {"happened": True}
            step = transitions.settle("reconcile", State.SUCCESS, now, result=result or "null", detail=told)
        case DidNotHappen():
            step = transitions.queue("reconcile", Reason.INTERRUPTED, {"happened": False})
        case _:
            step = transitions.note("reconcile", {"happened": None})
    moved = tasks.move(tx, row, step, now, "reconcile", tell())
    if moved is not None:
        settle_run(tx, row.run_id, now)
    return moved


def late(
    tx: Tx,
    task_id: str,
    fence: int,
    outcome: str,
    result: str | None,
    error: str | None,
    not_applied: bool,
    now: Micros,
    actor: str,
    tell: Tell,
) -> TaskRow | None:
    """An attempt that was given up has ended after all: evidence, and the end of a doubt nobody resolved.

    It never overwrites a newer attempt. Returns the task as it stands then.
    """
    row = tasks.get(tx, task_id)
    if row is None:
        return None
    evidence = result if result is not None else error
    if not attempts.late(tx, task_id, fence, now, outcome, evidence):
        return row
    unsettled = row.state == State.QUARANTINE and row.reason == Reason.OUTCOME_UNKNOWN
    if row.fence != fence:
        step = transitions.note("late_evidence", {"fence": fence, "outcome": outcome})
    elif unsettled and outcome == "lost" and not_applied:  # it never came to the body, and will not
        step = transitions.queue("late_settled", Reason.INTERRUPTED, {"entered": False}, attempt_open=0)
    elif unsettled and outcome == "returned":
        step = transitions.settle("late_settled", State.SUCCESS, now, result=result)
    elif unsettled and outcome == "raised" and not_applied:
        step = transitions.settle("late_settled", State.FAILED, now, error=error)
    else:
        # An exception of any other kind does not tell whether it acted, so a doubt stays one: the model was told not
        # to repeat it, and calling that a plain failure would let it.
        step = transitions.note("late_evidence", {"fence": fence, "outcome": outcome}, attempt_open=0)
    moved = tasks.move(tx, row, step, now, actor, tell("alert", kind="late", outcome=outcome))
    if moved is not None and moved.state != row.state:
        settle_run(tx, row.run_id, now)
    return moved or tasks.get(tx, task_id)
