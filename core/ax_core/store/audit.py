"""The audit: append-only, chained by hash per task, its head kept on the task's own row."""

from __future__ import annotations

import json
from collections.abc import Mapping
from hashlib import sha256
from typing import Any

from ..clock import Micros
from ..model import AuditRow, TaskRow
from ..states import State
from .tx import Tx, columns

GENESIS = ""
CLAIM = "claim"
PURGE = "purged"
"""The entry that stands for all before it, once a purge has removed them."""


def entry(
    task_id: str,
    seq: int,
    head: str,
    at: Micros,
    verb: str,
    source: str | None,
    target: str | None,
    actor: str,
    detail: Mapping[str, Any] | None = None,
) -> AuditRow:
    """The next entry of a task's chain, after the one whose hash is ``head``."""
    text = json.dumps(detail, sort_keys=True, separators=(",", ":"), default=str) if detail else None
    return AuditRow(
        task_id,
        seq,
        at,
        verb,
        source,
        target,
        actor,
        text,
        _hash(head, task_id, seq, at, verb, source, target, actor, text),
    )


def unstored(task: TaskRow) -> AuditRow | None:
    """The first entry of a task, if it still waits to be stored with the second."""
    if task.audit_seq != 1 or task.state != State.RUNNING:
        return None
    return _claimed_at_birth(task.id, task.created_at, task.owner, task.audit_head)


def of_task(tx: Tx, task_id: str) -> list[AuditRow]:
    """A task's entries, oldest first."""
    found = tx.all(_OF_TASK, task_id=task_id)
    if not found and (claimed := tx.one(_CLAIMED_AT_BIRTH, task_id=task_id)):
        return [_claimed_at_birth(*claimed)]
    return [AuditRow(*row) for row in found]


def newest(tx: Tx, task_id: str) -> AuditRow | None:
    """The last entry that moved a task."""
    found = tx.one(_NEWEST, task_id=task_id)
    return AuditRow(*found) if found else None


def broken_at(rows: list[AuditRow], head: str) -> int | None:
    """The sequence number at which a chain does not hold, or None where it ends in ``head`` as it should."""
    first = rows[0] if rows else None
    purged = first is not None and first.verb == PURGE
    before, start = (_before_purge(first), first.seq) if first is not None and purged else (GENESIS, 1)
    for number, row in enumerate(rows, start):
        if row.seq != number or row.hash != _hash(before, *row[:8]):
            return number
        before = row.hash
    return None if before == head else start + len(rows)


def _before_purge(row: AuditRow) -> str:
    """The head of the chain that a purge removed, as its stub tells it; the stub's own hash vouches for it."""
    try:
        return str(json.loads(row.detail or "{}").get("head", ""))
    except (ValueError, AttributeError):
        return GENESIS


def _claimed_at_birth(task_id: str, at: Micros, owner: str | None, head: str) -> AuditRow:
    """The first entry of a task that was claimed as it was born, which its row tells: it is stored with the second.

    Its hash is the head that was committed with the row, so nothing of it can be changed unseen.
    """
    return AuditRow(task_id, 1, at, CLAIM, None, State.RUNNING.value, owner or "", None, head)


def _hash(
    head: str,
    task_id: str,
    seq: int,
    at: Micros,
    verb: str,
    source: str | None,
    target: str | None,
    actor: str,
    detail: str | None,
) -> str:
    # No two different entries have the same text: only the last part, a person's name, may hold the separator.
    text = f"{head}\n{task_id}\n{seq}\n{at}\n{verb}\n{source or ''}\n{target or ''}\n{detail or ''}\n{actor}"
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


_CLAIMED_AT_BIRTH = (
    "SELECT id, created_at, owner, audit_head FROM ax_task "
    "WHERE id = :task_id AND state = 'RUNNING' AND audit_seq = 1"
)
_OF_TASK = f"SELECT {columns(AuditRow)} FROM ax_audit WHERE task_id = :task_id ORDER BY seq"
_NEWEST = (
    f"SELECT {columns(AuditRow)} FROM ax_audit WHERE task_id = :task_id AND (source IS NULL OR source <> target OR "
    "verb IN ('resolve', 'cancel_requested')) ORDER BY seq DESC LIMIT 1"
)
