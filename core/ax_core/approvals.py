"""Confirmation: a person is asked once, decides once, and the answer is bound to what was shown."""

from __future__ import annotations

from .clock import Micros
from .model import ApprovalRow, TaskRow
from .store import Tx, approvals

APPROVED = "approved"
REJECTED = "rejected"
EXPIRED = "expired"
START_WITHIN: Micros = 86_400_000_000
"""From the decision to the start at most: a separate limit, checked again at the claim."""


def ask(tx: Tx, row: TaskRow, now: Micros, ttl: Micros) -> ApprovalRow:
    """Put the question about a task that was just recorded CONFIRMING."""
    before = approvals.latest(tx, row.id)
    asked = ApprovalRow(
        task_id=row.id,
        number=before.number + 1 if before else 1,
        ns=row.ns,
        args_hash=row.args_hash,
        tool_version=row.tool_version,
        asked_at=now,
        expires_at=now + ttl,
        decision=None,
        decided_at=None,
        decided_by=None,
        comment=None,
        start_by=None,
    )
    approvals.ask(tx, asked)
    return asked


def valid(tx: Tx, row: TaskRow, now: Micros, tool_version: str) -> str | None:
    """Why an approved task may not start now; None: it may.

    An approval stands for the tool version and the arguments that were shown, and must be used in time.
    """
    asked = approvals.latest(tx, row.id)
    if asked is None or asked.decision != APPROVED:
        return "it was never approved"
    if asked.start_by is not None and now > asked.start_by:
        return "the approval was not used in time"
    if asked.args_hash != row.args_hash or asked.tool_version != tool_version:
        return "the tool or its arguments changed after the approval"
    return None
