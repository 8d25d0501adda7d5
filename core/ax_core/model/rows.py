"""The rows of the store as frozen data, each in column order."""

from __future__ import annotations

from typing import Any, NamedTuple

from ..clock import Micros

PURGED = "null"
"""The payload of a task whose arguments and result were purged: arguments are always an object."""


class TaskRow(NamedTuple):
    """One row of ``ax_task``, in column order: what is written is exactly this tuple.

    The open attempt lives in this row; an attempt that ended in anything but a plain success is also kept in
    ``ax_attempt``. Times are microseconds; flags are 0 or 1.
    """

    id: str
    ns: str
    run_id: str
    parent_id: str | None
    session: str | None
    tool: str
    tool_version: str
    effect: str
    origin: str
    state: str
    reason: str | None
    request_id: str | None
    idempotency_key: str
    submitted_hash: str
    args_hash: str
    fingerprint: str
    twin: str | None
    dedupe_key: str | None
    payload: str
    result: str | None
    error: str | None
    notes: str | None
    address: str | None
    attempt: int
    failures: int
    interruptions: int
    max_attempts: int
    fence: int
    owner: str | None
    lease_until: Micros | None
    attempt_open: int
    marks_effect: int
    acted_at: Micros | None
    maybe_applied: int
    cancel_requested: int
    approved: int
    overdue: int
    replays: int
    due_at: Micros | None
    deadline_at: Micros | None
    created_at: Micros
    started_at: Micros | None
    ended_at: Micros | None
    audit_seq: int
    audit_head: str

    @property
    def purged(self) -> bool:
        """What it carried is gone; request, key and outcome still stand."""
        return self.payload == PURGED

    def but(self, **changes: Any) -> TaskRow:
        """The same row with other values; a quick ``_replace``, which takes its forty columns one by one."""
        values = [*self[:]]  # the slice is an exact tuple, which is copied as a whole
        for name, value in changes.items():
            values[_PLACE[name]] = value
        return tuple.__new__(TaskRow, values)


_PLACE = {name: place for place, name in enumerate(TaskRow._fields)}


class RunRow(NamedTuple):
    """One row of ``ax_run``: an intent that was opened on purpose. Implicit runs have no row."""

    id: str
    ns: str
    run_key: str | None
    root_id: str
    parent_run_id: str | None
    parent_task_id: str | None
    session: str | None
    intent: str | None
    state: str
    reason: str | None
    max_tasks: int | None
    used_tasks: int
    refused: int
    max_rounds: int | None
    used_rounds: int
    max_cost: int | None
    used_cost: int
    seconds: Micros | None
    deadline_at: Micros | None
    paused_at: Micros | None
    lock_token: str | None
    created_at: Micros
    ended_at: Micros | None
    digest: str | None


class AttemptRow(NamedTuple):
    """One row of ``ax_attempt``: an attempt that ended, and what came of it later."""

    task_id: str
    number: int
    fence: int
    owner: str | None
    started_at: Micros | None
    ended_at: Micros | None
    outcome: str
    error: str | None
    acted_at: Micros | None
    closed: int
    late_at: Micros | None
    late_outcome: str | None
    late_result: str | None


class AuditRow(NamedTuple):
    """One row of ``ax_audit``: a change that happened, chained by hash to the one before it."""

    task_id: str
    seq: int
    at: Micros
    verb: str
    source: str | None
    target: str | None
    actor: str
    detail: str | None
    hash: str


class ApprovalRow(NamedTuple):
    """One row of ``ax_approval``: one question to a person and its answer."""

    task_id: str
    number: int
    ns: str
    args_hash: str
    tool_version: str
    asked_at: Micros
    expires_at: Micros
    decision: str | None
    decided_at: Micros | None
    decided_by: str | None
    comment: str | None
    start_by: Micros | None


class RequestRow(NamedTuple):
    """One row of ``ax_request``: a further request id that was answered with an existing task."""

    ns: str
    request_id: str
    task_id: str
    submitted_hash: str
    kind: str
    created_at: Micros


class IdempotencyRow(NamedTuple):
    """One row of ``ax_idempotency``: which task holds an idempotency scope.

    Whether it still binds follows from that task's state, so nothing has to be released.
    """

    ns: str
    dedupe_key: str
    tool: str
    args_hash: str
    task_id: str
    first_at: Micros
    last_at: Micros
    expires_at: Micros | None


class LockRow(NamedTuple):
    """One row of ``ax_lock``: the lease of a session, the lock of record."""

    ns: str
    session: str
    run_id: str
    token: str
    fence: int
    expires_at: Micros


class ToolRow(NamedTuple):
    """One row of ``ax_tool``: what operators need to know of a tool without its code."""

    ns: str
    name: str
    version: str
    schema: str
    policy: str
    paused: int
    paused_by: str | None
    seen_at: Micros
