"""Confirm and reject: one compare-and-set by the store's clock; the second to click is told what was decided."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ..approvals import APPROVED, EDITED, EXPIRED, REJECTED, START_WITHIN
from ..clock import Micros
from ..errors import NotAllowed, UnknownTask
from ..limits import give_back
from ..model import ApprovalRow, TaskRow, Verdict
from ..sessions import settle as settle_run
from ..states import Reason, State
from ..store import Tx, approvals, tasks, transitions
from ..view import moment
from .decided import standing
from .holding import holder, in_the_way, known_by, take_key
from .tell import Tell

COMMENT_CAP = 4000


@dataclass(frozen=True, slots=True)
class Edited:
    """Arguments that a person changed, after they passed the gate again: a new intent with a new key."""

    payload: str
    args_hash: str
    fingerprint: str
    twin: str | None
    dedupe_key: str | None
    idempotency_key: str
    window: float | None = None


Edit = Callable[[TaskRow], Edited]


def confirm(
    tx: Tx,
    ns: str,
    task_id: str,
    by: str,
    now: Micros,
    tell: Tell,
    edit: Edit | None = None,
    note: str | None = None,
) -> Verdict:
    """Approve a task, with other arguments where ``edit`` gives them.

    Raises:
        UnknownTask: there is none of that id.
        NotAllowed: it does not wait for a confirmation, or an equal call of the edited arguments is already there.
        Quarantined: the edited arguments do not fit.
    """
    row, asked = _open_question(tx, ns, task_id)
    if isinstance(asked, Verdict):
        return asked
    if now >= asked.expires_at:
        expire(tx, row, asked, now, tell)
        return Verdict(
            False, task_id, State.CANCELLED, f"expired at {moment(asked.expires_at)}: not executed"
        )
    changes: dict[str, Any] = {"approved": 1}
    detail: dict[str, Any] = {"by": by}
    edited = edit(row) if edit is not None else None
    if edited is not None and edited.args_hash == row.args_hash:
        edited = None  # nothing changed, so it is the same intent
    if edited is not None:
        changes |= {
            "payload": edited.payload,
            "args_hash": edited.args_hash,
            "fingerprint": edited.fingerprint,
            "twin": edited.twin,
            "dedupe_key": edited.dedupe_key,
            "idempotency_key": edited.idempotency_key,
            "notes": json.dumps([*json.loads(row.notes or "[]"), EDITED]),
        }
        detail |= {"edited": True, "before": row.args_hash, "after": edited.args_hash}
        _merged_again(tx, row.but(**changes), edited, now, by, tell)
        tx.run(
            "UPDATE ax_approval SET args_hash = :args_hash WHERE task_id = :task_id AND number = :number",
            args_hash=edited.args_hash,
            task_id=task_id,
            number=asked.number,
        )
    if not approvals.answer(tx, asked, APPROVED, now, by, _capped(note), now + START_WITHIN):
        return _decided(row, approvals.latest(tx, task_id))
    step = transitions.queue("confirm", None, detail, **changes)
    moved = tasks.move(tx, row, step, now, by, tell("confirmed", by=by, edited=edited is not None))
    if moved is None:
        raise NotAllowed(
            f"task {task_id} was moved while it was being confirmed; look again", task_id=task_id
        )
    then = "it runs when its caller comes back, or in ax.serve()"
    return Verdict(True, task_id, moved.state, f"approved by {by}; {then}")


def _merged_again(tx: Tx, row: TaskRow, edited: Edited, now: Micros, by: str, tell: Tell) -> None:
    """The merge gate once more: the edited arguments name another intent, which somebody may hold already."""
    if tx.beside_others:
        tx.serialise(*known_by(row))
    other = holder(tx, row, now) or in_the_way(tx, row, now, by, tell)
    if other is not None:
        raise NotAllowed(
            f"an equal call of the edited arguments is already there: task {other.id} is {standing(tx, other)}; "
            f"reject task {row.id} instead",
            task_id=row.id,
        )
    if row.dedupe_key is not None:
        take_key(tx, row, now, edited.window)


def reject(
    tx: Tx, ns: str, task_id: str, by: str, now: Micros, tell: Tell, reason: str | None = None
) -> Verdict:
    """Say no; ``reason`` is what the model will read.

    Raises:
        UnknownTask: there is none of that id.
        NotAllowed: it does not wait for a confirmation.
    """
    row, asked = _open_question(tx, ns, task_id)
    if isinstance(asked, Verdict):
        return asked
    if now >= asked.expires_at:
        expire(tx, row, asked, now, tell)
        return Verdict(
            False, task_id, State.CANCELLED, f"expired at {moment(asked.expires_at)}: not executed"
        )
    if not approvals.answer(tx, asked, REJECTED, now, by, _capped(reason), None):
        return _decided(row, approvals.latest(tx, task_id))
    said = json.dumps({"type": "Rejected", "message": "rejected by a person", "reviewer": _capped(reason)})
    step = transitions.cancel(Reason.REJECTED, {"by": by, "reason": reason}, now, error=said)
    tasks.move(tx, row, step, now, by, tell("rejected", by=by, reason=reason))
    give_back(tx, row.run_id)
    settle_run(tx, row.run_id, now)
    return Verdict(True, task_id, State.CANCELLED, f"rejected by {by}; it was not executed")


def expire(tx: Tx, row: TaskRow, asked: ApprovalRow, now: Micros, tell: Tell) -> bool:
    """Nobody decided in time: cancelled, and said so; False: somebody did."""
    if not approvals.answer(tx, asked, EXPIRED, now, "ax", None, None):
        return False
    step = transitions.cancel(Reason.APPROVAL_EXPIRED, {"asked_at": asked.asked_at}, now)
    tasks.move(tx, row, step, now, "ax", tell("expired"))
    give_back(tx, row.run_id)
    settle_run(tx, row.run_id, now)
    return True


def _open_question(tx: Tx, ns: str, task_id: str) -> tuple[TaskRow, ApprovalRow | Verdict]:
    row = tasks.get(tx, task_id)
    if row is None or row.ns != ns:
        raise UnknownTask(f"no task {task_id}", task_id=task_id)
    asked = approvals.latest(tx, task_id)
    if asked is None:
        why = f"task {task_id} ({row.tool}) is {row.state} and was never up for confirmation"
        raise NotAllowed(why, task_id=task_id)
    if asked.decision is not None or row.state != State.CONFIRMING:
        return row, _decided(row, asked)
    return row, asked


def _decided(row: TaskRow, asked: ApprovalRow | None) -> Verdict:
    if asked is None or asked.decision is None:
        return Verdict(False, row.id, row.state, f"it is {row.state} ({row.reason}) and waits for nobody")
    when = moment(asked.decided_at)
    who = "nobody in time" if asked.decision == EXPIRED else asked.decided_by
    told = f"already decided: {asked.decision} by {who} at {when:%Y-%m-%d %H:%M:%S} UTC"
    return Verdict(False, row.id, row.state, told)


def _capped(text: str | None) -> str | None:
    return None if text is None else text[:COMMENT_CAP]
