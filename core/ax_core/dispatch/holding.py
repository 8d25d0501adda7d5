"""Holding an idempotency key: a task binds it while its outcome answers for a repeat, and releases it by its state."""

from __future__ import annotations

from ..clock import Micros, micros
from ..model import IdempotencyRow, TaskRow
from ..states import Reason, State
from ..store import Tx, bindings, tasks

_BINDING = frozenset({State.QUEUED, State.WAITING, State.CONFIRMING, State.RUNNING, State.RETRY_WAIT})


def binds(other: TaskRow, held: IdempotencyRow, now: Micros) -> bool:
    """Whether the holder of a key still answers for it; everything else has released it."""
    state = State(other.state)
    if state is State.SUCCESS:
        return held.expires_at is None or now < held.expires_at
    return (
        state in _BINDING
        or bool(other.maybe_applied)
        or (state is State.QUARANTINE and other.reason == Reason.OUTCOME_UNKNOWN)
    )


def take_key(tx: Tx, row: TaskRow, now: Micros, window: float | None) -> TaskRow | None:
    """Bind a task's key to it; returns the task that holds it instead, where one still does."""
    assert row.dedupe_key is not None
    expires = now + micros(window) if window is not None else None
    fresh = IdempotencyRow(row.ns, row.dedupe_key, row.tool, row.args_hash, row.id, now, now, expires)
    if bindings.bind(tx, fresh):
        return None
    held = bindings.holder(tx, row.ns, row.dedupe_key)
    assert held is not None
    if held.task_id == row.id:
        return None
    other = tasks.get(tx, held.task_id)
    if other is not None and binds(other, held, now):
        return other
    bindings.rebind(tx, held, row.id, row.args_hash, now, expires)
    return None
