"""Questions to people: rows of ``ax_approval``, decided once."""

from __future__ import annotations

from ..clock import Micros
from ..model import ApprovalRow
from .tx import Tx, columns


def ask(tx: Tx, row: ApprovalRow) -> None:
    """Put a question."""
    tx.insert("ax_approval", row)


def latest(tx: Tx, task_id: str) -> ApprovalRow | None:
    """The newest question about a task."""
    found = tx.one(_LATEST, task_id=task_id)
    return ApprovalRow(*found) if found else None


def answer(
    tx: Tx,
    row: ApprovalRow,
    decision: str,
    now: Micros,
    by: str,
    comment: str | None,
    start_by: Micros | None,
) -> bool:
    """Decide a question that is open; False: somebody decided it first."""
    return (
        tx.run(
            _ANSWER,
            task_id=row.task_id,
            number=row.number,
            decision=decision,
            now=now,
            actor=by,
            comment=comment,
            start_by=start_by,
        )
        == 1
    )


_LATEST = (
    f"SELECT {columns(ApprovalRow)} FROM ax_approval WHERE task_id = :task_id ORDER BY number DESC LIMIT 1"
)
_ANSWER = (
    "UPDATE ax_approval SET decision = :decision, decided_at = :now, decided_by = :actor, comment = :comment, "
    "start_by = :start_by WHERE task_id = :task_id AND number = :number AND decision IS NULL"
)
