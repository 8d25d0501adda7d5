"""Approvals that nobody gave in time."""

from __future__ import annotations

from ..clock import Clock, Micros
from ..control import Tell, expire
from ..model import ApprovalRow
from ..store import Op, Tx, tasks
from ..store.tx import columns


def anything_due(now: Micros) -> Op[bool]:
    """Whether :func:`expire_due` would find something: asked on a snapshot, so that nothing is written for nothing."""
    return lambda tx: tx.one(_DUE, now=now) is not None


def expire_due(clock: Clock, tell: Tell) -> Op[int]:
    """Cancel what waits for a person beyond its time; how many there were."""

    def op(tx: Tx) -> int:
        found, now = 0, clock.now()
        for raw in tx.all(_DUE, now=now):
            asked = ApprovalRow(*raw)
            row = tasks.get(tx, asked.task_id)
            if row is not None and row.state == "CONFIRMING":
                found += expire(tx, row, asked, now, tell)
        return found

    return op


_DUE = (
    f"SELECT {', '.join('a.' + name for name in columns(ApprovalRow).split(', '))} FROM ax_task t "
    "JOIN ax_approval a ON a.task_id = t.id AND a.decision IS NULL "
    "WHERE t.state = 'CONFIRMING' AND t.state <> 'SUCCESS' AND a.expires_at <= :now"
)
