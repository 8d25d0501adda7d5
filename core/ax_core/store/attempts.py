"""Attempts that ended, and the late evidence about them."""

from __future__ import annotations

from ..clock import Micros
from ..model import AttemptRow, TaskRow
from .tx import Tx, columns


def keep(
    tx: Tx, row: TaskRow, outcome: str, now: Micros, *, error: str | None = None, closed: bool = True
) -> None:
    """Keep the attempt that ``row`` shows, now that it ended in ``outcome``."""
    tx.insert_new(
        "ax_attempt",
        AttemptRow(
            row.id,
            row.attempt,
            row.fence,
            row.owner,
            row.started_at,
            now,
            outcome,
            error,
            row.acted_at,
            int(closed),
            None,
            None,
            None,
        ),
    )


def late(tx: Tx, task_id: str, fence: int, now: Micros, outcome: str, result: str | None) -> bool:
    """Record how an attempt that was given up really ended; False: it is not on record, or was told before."""
    return tx.run(_LATE, task_id=task_id, fence=fence, now=now, outcome=outcome, result=result) == 1


def close(tx: Tx, task_id: str, fence: int) -> None:
    """An attempt that was given up open cannot go on any more."""
    tx.run(
        "UPDATE ax_attempt SET closed = 1 WHERE task_id = :task_id AND fence = :fence",
        task_id=task_id,
        fence=fence,
    )


def of_task(tx: Tx, task_id: str) -> list[AttemptRow]:
    """A task's ended attempts, oldest first."""
    return [AttemptRow(*row) for row in tx.all(_OF_TASK, task_id=task_id)]


_LATE = (
    "UPDATE ax_attempt SET closed = 1, late_at = :now, late_outcome = :outcome, late_result = :result "
    "WHERE task_id = :task_id AND fence = :fence AND late_at IS NULL"
)
_OF_TASK = f"SELECT {columns(AttemptRow)} FROM ax_attempt WHERE task_id = :task_id ORDER BY number, fence"
