"""Requeue: a person orders another attempt, through the same gates as any other."""

from __future__ import annotations

from ..clock import Micros
from ..errors import NotAllowed, UnknownTask
from ..model import Verdict
from ..states import Reason, State
from ..store import Tx, tasks, transitions
from .tell import Tell

_REQUEUABLE = frozenset(
    {State.FAILED, State.TIMEOUT, State.QUARANTINE, State.CANCELLED, State.SKIPPED, State.DEAD}
)


def requeue(tx: Tx, ns: str, task_id: str, by: str, now: Micros, tell: Tell) -> Verdict:
    """Make a task that ended badly ready again, under the same key.

    Raises:
        UnknownTask: there is none of that id.
        NotAllowed: it succeeded, is open, its outcome is in doubt, or its arguments do not fit.
    """
    row = tasks.get(tx, task_id)
    if row is None or row.ns != ns:
        raise UnknownTask(f"no task {task_id}", task_id=task_id)
    state = State(row.state)
    if state in (State.QUEUED, State.RUNNING, State.RETRY_WAIT):
        return Verdict(False, task_id, state, f"already {state}")
    if state not in _REQUEUABLE:
        raise NotAllowed(f"task {task_id} ({row.tool}) is {state}: there is nothing to requeue", task_id=task_id)
    if state is State.QUARANTINE and row.reason == Reason.OUTCOME_UNKNOWN:
        raise NotAllowed(
            f"nobody knows whether task {task_id} ({row.tool}) acted: say so with "
            "resolve(happened=True) or resolve(happened=False, rerun=True)",
            task_id=task_id,
        )
    if state is State.QUARANTINE and row.reason == Reason.INVALID_ARGS:
        raise NotAllowed(
            f"the arguments of task {task_id} ({row.tool}) do not fit its schema; a repeat would not either",
            task_id=task_id,
        )
    if row.attempt_open and row.effect != "read":
        raise NotAllowed(
            f"the last attempt of task {task_id} has not been seen to end; it may still act", task_id=task_id
        )
    if row.reason == Reason.REJECTED:
        raise NotAllowed(f"task {task_id} was rejected by a person; it must be issued anew", task_id=task_id)
    step = transitions.queue(
        "requeue",
        None,
        {"from": state.value, "by": by, "maybe_applied": bool(row.maybe_applied)},
        interruptions=0,
        failures=0,
        cancel_requested=0,
        maybe_applied=0,
    )
    moved = tasks.move(tx, row, step, now, by, tell("requeued", by=by))
    if moved is None:
        raise NotAllowed(f"task {task_id} was moved while it was being requeued; look again", task_id=task_id)
    return Verdict(True, task_id, moved.state, "queued: it runs when its caller comes back, or in ax.serve()")
