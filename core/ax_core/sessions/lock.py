"""The session lock: a lease row with token and fence. A second chain is refused at once."""

from __future__ import annotations

from ..clock import Micros
from ..errors import SessionBusy
from ..model import LockRow
from ..owners import certainly_gone
from ..store import Tx, locks


def acquire(
    tx: Tx, ns: str, session: str, run_id: str, token: str, now: Micros, lease: Micros
) -> SessionBusy | None:
    """Take the session for a run, or say who has it. The same run takes over from itself."""
    if locks.take(tx, LockRow(ns, session, run_id, token, 1, now + lease)):
        return None
    held = locks.get(tx, ns, session)
    assert held is not None
    if not _in_the_way(held, run_id, now):
        if locks.take_over(tx, held, run_id, token, now + lease):
            return None
        held = locks.get(tx, ns, session) or held
    return busy(session, held.run_id)


def refusal(tx: Tx, ns: str, session: str, run_id: str, now: Micros) -> SessionBusy | None:
    """What :func:`acquire` would say, without taking anything."""
    held = locks.get(tx, ns, session)
    return busy(session, held.run_id) if held is not None and _in_the_way(held, run_id, now) else None


def holds(
    tx: Tx, ns: str, session: str, run_id: str, token: str | None, now: Micros, lease: Micros
) -> SessionBusy | None:
    """Check that a run still has its session, taking it again where it merely lapsed."""
    held = locks.get(tx, ns, session)
    if held is not None and held.run_id == run_id and held.expires_at > now:
        return None
    return acquire(tx, ns, session, run_id, token or run_id, now, lease)


def release(tx: Tx, ns: str, session: str, token: str) -> None:
    """Let go, by token: a holder that was superseded releases nothing."""
    locks.release(tx, ns, session, token)


def _in_the_way(held: LockRow, run_id: str, now: Micros) -> bool:
    """Whether another run has the session, and may still be at work."""
    return (
        held.run_id != run_id and held.expires_at > now and not certainly_gone(held.token.partition("/")[0])
    )


def busy(session: str, run_id: str) -> SessionBusy:
    """The refusal of a second chain."""
    return SessionBusy(
        f"session {session!r} is busy with run {run_id}; wait for it, or open the run with on_busy='wait' "
        "or 'supersede'",
        run_id=run_id,
        for_model="Another request of this conversation is still being worked on. Nothing was done; try again later.",
    )
