"""Confirmation: a person is asked once, decides once, and the answer is bound to what was shown."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .clock import Micros
from .model import ApprovalRow, TaskRow
from .registry import Promise
from .store import Tx, approvals, tasks, transitions

APPROVED = "approved"
REJECTED = "rejected"
EXPIRED = "expired"
EDITED = "a person changed the arguments before it ran"
"""The note on a task whose approval came with other arguments."""

START_WITHIN: Micros = 86_400_000_000
"""From the decision to the start at most: a separate limit, checked again at the claim."""


def ask(tx: Tx, row: TaskRow, now: Micros, ttl: Micros, approved_as: str) -> ApprovalRow:
    """Put the question about a task that was just recorded CONFIRMING; ``approved_as`` is what the tool promises."""
    before = approvals.latest(tx, row.id)
    asked = ApprovalRow(
        task_id=row.id,
        number=before.number + 1 if before else 1,
        ns=row.ns,
        args_hash=row.args_hash,
        tool_version=approved_as,
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


def ask_again(
    tx: Tx,
    row: TaskRow,
    asked: ApprovalRow,
    now: Micros,
    actor: str,
    tool: Promise,
    told: Callable[[TaskRow], None],
    verb: str = "ask",
    **changes: Any,
) -> TaskRow | None:
    """Put the question about a task that came to rest once more; None: it was moved meanwhile."""
    step = transitions.ask(verb, tool.version, {"asked": asked.number + 1}, **changes)
    moved = tasks.move(tx, row, step, now, actor, told)
    if moved is not None:
        ask(tx, moved, now, asked.expires_at - asked.asked_at, tool.approved_as)
    return moved


def valid(tx: Tx, row: TaskRow, now: Micros, approved_as: str) -> str | None:
    """Why an approved task may not start now; None: it may.

    An approval stands for the tool as it was and the arguments that were shown, and must be used in time; once it was,
    an interruption or a retry by the policy is the same execution.
    """
    asked = approvals.latest(tx, row.id)
    if asked is None or asked.decision != APPROVED:
        return "it was never approved"
    if row.attempt == 0 and asked.start_by is not None and now > asked.start_by:
        return "the approval was not used in time"
    if asked.args_hash != row.args_hash or asked.tool_version != approved_as:
        return "the tool or its arguments changed after the approval"
    return None
