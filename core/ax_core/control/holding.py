"""What an equal call finds: the holder of its idempotency key, or a task that stands in its way.

A task binds its key while its outcome answers for a repeat, and releases it by its state.
"""

from __future__ import annotations

from ..clock import Micros, micros
from ..model import IdempotencyRow, TaskRow
from ..states import Reason, State
from ..store import Tx, bindings, queries, tasks
from .recover import is_lost, lost
from .tell import Tell

_BINDING = frozenset({State.QUEUED, State.WAITING, State.CONFIRMING, State.RUNNING, State.RETRY_WAIT})


def known_by(row: TaskRow) -> list[str]:
    """The names of a call: of two that share one, the second is looked at when the first is done with."""
    names = (("request", row.request_id), ("key", row.dedupe_key), ("twin", row.twin))
    return [f"{kind}:{row.ns}:{name}" for kind, name in names if name is not None]


def holder(tx: Tx, row: TaskRow, now: Micros) -> TaskRow | None:
    """Another task that holds this one's idempotency key and still answers for it."""
    if row.dedupe_key is None or (held := bindings.holder(tx, row.ns, row.dedupe_key)) is None:
        return None
    other = tasks.get(tx, held.task_id)
    return other if other is not None and other.id != row.id and _binds(other, held, now) else None


def in_the_way(tx: Tx, row: TaskRow, now: Micros, actor: str, tell: Tell) -> TaskRow | None:
    """Another task with equal tool and arguments, in the same session (else run), that must come to rest first."""
    if row.twin is None:
        return None
    for other in queries.twins(tx, row.twin):
        if other.id == row.id:
            continue
        if other.state == State.RUNNING and is_lost(other, now):
            other = lost(tx, other, now, actor, tell) or other
        if _blocks(other):
            return other
    return None


def take_key(tx: Tx, row: TaskRow, now: Micros, window: float | None) -> None:
    """Bind a task's key to it; nobody else may bind it, see :func:`holder`."""
    assert row.dedupe_key is not None
    expires = now + micros(window) if window is not None else None
    fresh = IdempotencyRow(row.ns, row.dedupe_key, row.tool, row.args_hash, row.id, now, now, expires)
    if bindings.bind(tx, fresh):
        return
    held = bindings.holder(tx, row.ns, row.dedupe_key)
    if held is not None and held.task_id != row.id:
        bindings.rebind(tx, held, row.id, row.args_hash, now, expires)


def _binds(other: TaskRow, held: IdempotencyRow, now: Micros) -> bool:
    if other.dedupe_key != held.dedupe_key:
        return False  # its arguments were edited: the old key is free
    state = other.state
    if state == State.SUCCESS:
        return held.expires_at is None or now < held.expires_at
    return (
        state in _BINDING
        or bool(other.maybe_applied)
        or (state == State.QUARANTINE and other.reason == Reason.OUTCOME_UNKNOWN)
    )


def _blocks(other: TaskRow) -> bool:
    state = other.state
    return (
        state == State.CONFIRMING
        or (state == State.QUEUED and bool(other.approved))
        or (state == State.RUNNING and bool(other.overdue))
        or (state == State.QUARANTINE and other.reason == Reason.OUTCOME_UNKNOWN)
    )
