"""The lease of a session: the lock of record."""

from __future__ import annotations

from ..clock import Micros
from ..model import LockRow
from .tx import Tx, columns


def get(tx: Tx, ns: str, session: str) -> LockRow | None:
    """Who holds a session."""
    found = tx.one(
        f"SELECT {columns(LockRow)} FROM ax_lock WHERE ns = :ns AND session = :session",
        ns=ns,
        session=session,
    )
    return LockRow(*found) if found else None


def take(tx: Tx, row: LockRow) -> bool:
    """Take a free session."""
    return tx.insert_new("ax_lock", row)


def take_over(tx: Tx, held: LockRow, run_id: str, token: str, expires_at: Micros) -> bool:
    """Take a session from the holder that ``held`` shows, under the next fence; False: it changed meanwhile."""
    return (
        tx.run(
            "UPDATE ax_lock SET run_id = :run_id, token = :token, fence = fence + 1, expires_at = :expires_at "
            "WHERE ns = :ns AND session = :session AND token = :old AND fence = :fence",
            ns=held.ns,
            session=held.session,
            old=held.token,
            fence=held.fence,
            run_id=run_id,
            token=token,
            expires_at=expires_at,
        )
        == 1
    )


def renew(tx: Tx, ns: str, session: str, token: str, expires_at: Micros) -> bool:
    """Hold on to a session; False: the token no longer holds it."""
    return (
        tx.run(
            "UPDATE ax_lock SET expires_at = :expires_at WHERE ns = :ns AND session = :session AND token = :token",
            ns=ns,
            session=session,
            token=token,
            expires_at=expires_at,
        )
        == 1
    )


def release(tx: Tx, ns: str, session: str, token: str) -> bool:
    """Let go of a session, by its token only. The row stays, expired, so that the fence goes on growing."""
    return renew(tx, ns, session, token, 0)
