"""The verdict on an attempt whose owner is gone."""

from __future__ import annotations

from ..clock import Micros
from ..decide import Facts, Lost, decide
from ..model import TaskRow
from ..owners import certainly_gone
from ..policy import Effect
from ..sessions import settle as settle_run
from ..states import State
from ..store import Tx, attempts, tasks, transitions
from .tell import Tell


def facts(row: TaskRow, *, waited: bool = True) -> Facts:
    """What the ending table needs to know of a task."""
    return Facts(
        effect=Effect(row.effect),
        marks_effect=bool(row.marks_effect),
        acted=row.acted_at is not None,
        failures=row.failures,
        interruptions=row.interruptions,
        max_attempts=row.max_attempts,
        cancel_requested=bool(row.cancel_requested),
        waited=waited,
    )


def is_lost(row: TaskRow, now: Micros) -> bool:
    """Whether the attempt's owner cannot end it any more: its lease expired, or its process is gone."""
    if row.lease_until is not None and row.lease_until <= now:
        return True
    return row.owner is not None and certainly_gone(row.owner)


def lost(tx: Tx, row: TaskRow, now: Micros, actor: str, tell: Tell) -> TaskRow | None:
    """Classify a RUNNING task whose owner is gone; None: it was moved or renewed meanwhile.

    What may be repeated is QUEUED for whoever holds the request; what may not is in doubt, for a person.
    """
    if tx.beside_others:
        fresh = tasks.get(tx, row.id)
        if fresh is None or (fresh.state, fresh.fence, fresh.lease_until) != (
            row.state,
            row.fence,
            row.lease_until,
        ):
            return None
        row = fresh
    decision = decide(facts(row), Lost())
    attempts.keep(tx, row, "lost", now)
    step = transitions.end(row, decision, now, verb="lost", detail={"owner": row.owner})
    moved = tasks.move(tx, row, step, now, actor, tell())
    if moved is not None:
        settle_run(tx, row.run_id, now)
    return moved


def closed(tx: Tx, row: TaskRow, now: Micros, actor: str) -> TaskRow | None:
    """Close an attempt that was given up open, now that its owner is gone without a word."""
    assert row.state != State.RUNNING
    if tx.beside_others:
        fresh = tasks.get(tx, row.id)
        if fresh is None or (fresh.state, fresh.fence, fresh.attempt_open) != (row.state, row.fence, 1):
            return None
        row = fresh
    attempts.close(tx, row.id, row.fence)
    return tasks.move(
        tx, row, transitions.note("attempt_closed", {"owner": row.owner}, attempt_open=0), now, actor
    )
