"""What programs read: stable keys, ISO times, ids that say whose they are."""

from __future__ import annotations

from typing import Any

from ..model import Attempt, AuditEntry, Run, Task, Tree, Verdict
from .clean import plain
from .out import iso


def task(of: Task) -> dict[str, Any]:
    """A task."""
    return {
        "ax_task_id": of.id,
        "ax_run_id": of.run_id,
        "ax_parent_task_id": of.parent_id,
        "session": of.session,
        "tool": of.tool,
        "tool_version": of.tool_version,
        "effect": of.effect,
        "origin": of.origin,
        "state": of.state.value,
        "reason": of.reason,
        "payload": plain(of.payload),
        "result": plain(of.result),
        "error": plain(of.error),
        "notes": list(of.notes),
        "request_id": of.request_id,
        "idempotency_key": of.idempotency_key,
        "attempts": of.attempts,
        "max_attempts": of.max_attempts,
        "interruptions": of.interruptions,
        "maybe_applied": of.maybe_applied,
        "cancel_requested": of.cancel_requested,
        "approved": of.approved,
        "overdue": of.overdue,
        "replays": of.replays,
        "created_at": iso(of.created_at),
        "started_at": iso(of.started_at),
        "ended_at": iso(of.ended_at),
        "due_at": iso(of.due_at),
        "address": plain(of.address),
        "history": [attempt(each) for each in of.history],
        "approval": _approval(of.approval),
    }


def attempt(of: Attempt) -> dict[str, Any]:
    """One try at a task."""
    return {
        "number": of.number,
        "fence": of.fence,
        "owner": of.owner,
        "outcome": of.outcome,
        "closed": of.closed,
        "error": plain(of.error),
        "started_at": iso(of.started_at),
        "acted_at": iso(of.acted_at),
        "ended_at": iso(of.ended_at),
        "late_at": iso(of.late_at),
        "late_outcome": of.late_outcome,
        "late_result": plain(of.late_result),
    }


def _approval(of: dict[str, Any] | None) -> dict[str, Any] | None:
    if of is None:
        return None
    return {name: iso(value) if name.endswith(("_at", "_by")) else value for name, value in of.items()}


def run(of: Run) -> dict[str, Any]:
    """A run."""
    return {
        "ax_run_id": of.id,
        "ax_root_run_id": of.root_id,
        "ax_parent_run_id": of.parent_run_id,
        "state": of.state.value,
        "reason": of.reason,
        "session": of.session,
        "intent": of.intent,
        "key": of.key,
        "used_tasks": of.used_tasks,
        "max_tasks": of.max_tasks,
        "refused": of.refused,
        "implicit": of.implicit,
        "created_at": iso(of.created_at),
        "ended_at": iso(of.ended_at),
    }


def tree(of: Tree) -> dict[str, Any]:
    """A run with everything under it."""
    return {"run": run(of.run), "tasks": [task(t) for t in of.tasks], "runs": [tree(t) for t in of.runs]}


def entry(of: AuditEntry) -> dict[str, Any]:
    """One entry of an audit trail."""
    return {
        "seq": of.seq,
        "at": iso(of.at),
        "verb": of.verb,
        "source": of.source.value if of.source else None,
        "target": of.target.value if of.target else None,
        "by": of.by,
        "detail": plain(of.detail),
        "hash": of.hash,
    }


def verdict(of: Verdict, kind: str = "ax_task_id") -> dict[str, Any]:
    """What a verb did; ``kind`` says what its id names."""
    return {"done": of.done, kind: of.task_id, "state": of.state, "message": of.message}
