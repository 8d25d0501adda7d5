"""Requeue: a person orders another attempt, through the same gates as any other."""

from __future__ import annotations

import json

from ..approvals import ask_again
from ..clock import Micros
from ..errors import NotAllowed, UnknownTask
from ..model import TaskRow, Verdict
from ..registry import Promise
from ..states import Reason, State
from ..store import Tx, approvals, bindings, tasks, tools, transitions
from .decided import standing, state_of
from .holding import holder, in_the_way, known_by, take_key
from .tell import Tell

_REQUEUABLE = frozenset(
    {State.FAILED, State.TIMEOUT, State.QUARANTINE, State.CANCELLED, State.SKIPPED, State.DEAD}
)


def requeue(tx: Tx, ns: str, task_id: str, by: str, now: Micros, tell: Tell) -> Verdict:
    """Make a task that ended badly ready again, under the same key; what needed an approval needs a new one.

    Raises:
        UnknownTask: there is none of that id.
        NotAllowed: it succeeded, is open, its outcome is in doubt, its arguments do not fit, or an equal call took
            its place.
    """
    if tx.beside_others and (seen := tasks.look(tx, task_id)) is not None:
        tx.serialise(*known_by(seen))
    row = tasks.get(tx, task_id)
    if row is None or row.ns != ns:
        raise UnknownTask(f"no task {task_id}", task_id=task_id)
    state = state_of(row)
    if state in (State.QUEUED, State.RUNNING, State.RETRY_WAIT):
        return Verdict(False, task_id, state, f"already {standing(tx, row)}")
    if state not in _REQUEUABLE:
        raise NotAllowed(
            f"task {task_id} ({row.tool}) is {state}: there is nothing to requeue", task_id=task_id
        )
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
    if row.purged:
        raise NotAllowed(
            f"the arguments of task {task_id} ({row.tool}) were purged; it must be issued anew",
            task_id=task_id,
        )
    if row.reason == Reason.REJECTED:
        raise NotAllowed(f"task {task_id} was rejected by a person; it must be issued anew", task_id=task_id)
    other = holder(tx, row, now) or in_the_way(tx, row, now, by, tell)
    if other is not None:
        raise NotAllowed(
            f"an equal call took the place of task {task_id} ({row.tool}): task {other.id} is {standing(tx, other)}",
            task_id=task_id,
        )
    fresh = {"interruptions": 0, "failures": 0, "cancel_requested": 0, "maybe_applied": 0}
    asked = approvals.latest(tx, task_id)
    if asked is not None:
        told = tell("confirming", by=by)
        moved = ask_again(tx, row, asked, now, by, _promise(tx, row), told, verb="requeue", **fresh)
        message = (
            "it needs an approval again: confirm it, and it runs when its caller comes back, or in ax.serve()"
        )
    else:
        detail = {"from": state.value, "by": by, "maybe_applied": bool(row.maybe_applied)}
        step = transitions.queue("requeue", None, detail, **fresh)
        moved = tasks.move(tx, row, step, now, by, tell("requeued", by=by))
        message = "queued: it runs when its caller comes back, or in ax.serve()"
    if moved is None:
        raise NotAllowed(f"task {task_id} was moved while it was being requeued; look again", task_id=task_id)
    if row.dedupe_key is not None:
        held = bindings.holder(tx, row.ns, row.dedupe_key)
        expires = None if held is None else held.expires_at
        take_key(tx, moved, now, None if held is None or expires is None else (expires - held.last_at) / 1e6)
    return Verdict(True, task_id, moved.state, message)


def _promise(tx: Tx, row: TaskRow) -> Promise:
    """What the tool promises now, as it was last published."""
    tool = tools.get(tx, row.ns, row.tool)
    if tool is None:
        raise NotAllowed(
            f"tool {row.tool!r} is not known any more, so nobody can say what is approved", task_id=row.id
        )
    return Promise.of(tool.version, json.loads(tool.schema), json.loads(tool.policy))
