"""What a known request or an idempotency key points at."""

from __future__ import annotations

from ..clock import Micros
from ..model import IdempotencyRow, RequestRow
from .tx import Tx, columns


def request(tx: Tx, ns: str, request_id: str) -> RequestRow | None:
    """The further request of that id, if it was answered with an existing task."""
    found = tx.one(_REQUEST, ns=ns, request_id=request_id)
    return RequestRow(*found) if found else None


def point(tx: Tx, row: RequestRow) -> bool:
    """Record that a request was answered with an existing task; False: that request is known."""
    return tx.insert_new("ax_request", row)


def holder(tx: Tx, ns: str, dedupe_key: str) -> IdempotencyRow | None:
    """Which task holds an idempotency key."""
    found = tx.one(_HOLDER, ns=ns, dedupe_key=dedupe_key)
    return IdempotencyRow(*found) if found else None


def bind(tx: Tx, row: IdempotencyRow) -> bool:
    """Take a free key; False: somebody holds it."""
    return tx.insert_new("ax_idempotency", row)


def rebind(
    tx: Tx, held: IdempotencyRow, task_id: str, args_hash: str, now: Micros, expires_at: Micros | None
) -> bool:
    """Take a key over from the holder that no longer binds it; False: somebody was faster."""
    return (
        tx.run(
            _REBIND,
            ns=held.ns,
            dedupe_key=held.dedupe_key,
            old=held.task_id,
            task_id=task_id,
            args_hash=args_hash,
            now=now,
            expires_at=expires_at,
        )
        == 1
    )


_REQUEST = f"SELECT {columns(RequestRow)} FROM ax_request WHERE ns = :ns AND request_id = :request_id"
_HOLDER = f"SELECT {columns(IdempotencyRow)} FROM ax_idempotency WHERE ns = :ns AND dedupe_key = :dedupe_key"
_REBIND = (
    "UPDATE ax_idempotency SET task_id = :task_id, args_hash = :args_hash, last_at = :now, expires_at = :expires_at "
    "WHERE ns = :ns AND dedupe_key = :dedupe_key AND task_id = :old"
)
