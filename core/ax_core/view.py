"""Rows as people and programs read them: decoded, redacted, and never failing on an odd one."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any, cast

from .clock import Micros
from .codec import Codec
from .model import ApprovalRow, Attempt, AttemptRow, AuditEntry, AuditRow, Run, RunRow, Task, TaskRow
from .states import RunState, State

HIDDEN = "[redacted]"


EPOCH = datetime.fromtimestamp(0, UTC)


def moment(at: Micros | None) -> datetime | None:
    """A time of the store as an aware datetime; None also for one that is none."""
    try:
        return None if at is None else datetime.fromtimestamp(at / 1e6, UTC)
    except (TypeError, ValueError, OverflowError, OSError):
        return None


def certain(at: Micros) -> datetime:
    """:func:`moment` of a time that is there; the epoch for one that is none."""
    return moment(at) or EPOCH


def as_json(text: str | None, default: Any = None) -> Any:
    """Stored JSON, or a marker that it cannot be read."""
    if text is None:
        return default
    try:
        return json.loads(text)
    except (ValueError, TypeError, RecursionError) as error:
        return {"unreadable": str(error)[:200]}


def as_mapping(text: str | None) -> dict[str, Any]:
    """Stored JSON that should be an object; an empty one where it is anything else."""
    found = as_json(text, {})
    return found if isinstance(found, dict) else {}


def state(text: str) -> State:
    """A stored state; one that only a later version knows is shown by its name."""
    try:
        return State(text)
    except ValueError:
        return cast(State, str(text))


def run_state(text: str) -> RunState:
    """:func:`state` of a run."""
    try:
        return RunState(text)
    except ValueError:
        return cast(RunState, str(text))


def redacted(payload: Any, names: Iterable[str]) -> Any:
    """Arguments with the named ones hidden, at every depth."""
    hide = frozenset(names)
    if not hide:
        return payload

    def clean(value: Any) -> Any:
        if isinstance(value, dict):
            return {k: HIDDEN if k in hide else clean(v) for k, v in value.items()}
        if isinstance(value, list):
            return [clean(v) for v in value]
        return value

    return clean(payload)


def task(
    row: TaskRow,
    codec: Codec,
    *,
    redact: Iterable[str] = (),
    attempts: Iterable[AttemptRow] = (),
    asked: ApprovalRow | None = None,
) -> Task:
    """A task as it is shown. What cannot be read is shown as such (an `Unreadable`), and raises nothing."""
    result = codec.readable(row.result) if row.result is not None else None
    error = as_json(row.error)
    return Task(
        id=row.id,
        run_id=row.run_id,
        parent_id=row.parent_id,
        session=row.session,
        tool=row.tool,
        tool_version=row.tool_version,
        effect=row.effect,
        origin=row.origin,
        state=state(row.state),
        reason=row.reason,
        payload=redacted(as_json(row.payload), redact),
        result=result,
        error=error if isinstance(error, dict) or error is None else {"message": str(error)},
        notes=notes(row.notes),
        request_id=row.request_id,
        idempotency_key=row.idempotency_key,
        attempts=row.attempt,
        max_attempts=row.max_attempts,
        interruptions=row.interruptions,
        maybe_applied=bool(row.maybe_applied),
        cancel_requested=bool(row.cancel_requested),
        approved=bool(row.approved),
        overdue=bool(row.overdue),
        replays=row.replays,
        created_at=certain(row.created_at),
        started_at=moment(row.started_at),
        ended_at=moment(row.ended_at),
        due_at=moment(row.due_at),
        address=as_mapping(row.address),
        history=history(row, attempts, codec),
        approval=approval(asked) if asked else None,
    )


def notes(text: str | None) -> tuple[str, ...]:
    """What was noted at admission."""
    found = as_json(text, [])
    return tuple(map(str, found)) if isinstance(found, list) else (f"unreadable: {found}"[:200],)


def history(row: TaskRow, kept: Iterable[AttemptRow], codec: Codec) -> tuple[Attempt, ...]:
    """Every attempt: those kept when they ended, and the one that lives in the task's own row."""
    made = [
        Attempt(
            number=a.number,
            fence=a.fence,
            owner=a.owner,
            started_at=moment(a.started_at),
            ended_at=moment(a.ended_at),
            outcome=a.outcome,
            error=as_json(a.error),
            closed=bool(a.closed),
            acted_at=moment(a.acted_at),
            late_at=moment(a.late_at),
            late_outcome=a.late_outcome,
            late_result=codec.readable(a.late_result) if a.late_result is not None else None,
        )
        for a in kept
    ]
    if row.attempt and all(a.number != row.attempt for a in made):
        made.append(
            Attempt(
                number=row.attempt,
                fence=row.fence,
                owner=row.owner,
                started_at=moment(row.started_at),
                ended_at=moment(row.ended_at),
                outcome="running" if row.state == State.RUNNING else "returned",
                error=None,
                closed=not row.attempt_open,
                acted_at=moment(row.acted_at),
            )
        )
    return tuple(made)


def approval(row: ApprovalRow) -> dict[str, Any]:
    """A question and its answer as plain data."""
    return {
        "asked_at": certain(row.asked_at),
        "expires_at": certain(row.expires_at),
        "decision": row.decision,
        "decided_at": moment(row.decided_at),
        "by": row.decided_by,
        "reason": row.comment,
        "start_by": moment(row.start_by),
    }


def run(row: RunRow) -> Run:
    """A run as it is shown."""
    return Run(
        id=row.id,
        state=run_state(row.state),
        reason=row.reason,
        session=row.session,
        intent=row.intent,
        key=row.run_key,
        root_id=row.root_id,
        parent_run_id=row.parent_run_id,
        used_tasks=row.used_tasks,
        max_tasks=row.max_tasks,
        refused=row.refused,
        created_at=certain(row.created_at),
        ended_at=moment(row.ended_at),
    )


def implicit_run(run_id: str, tasks: list[TaskRow]) -> Run:
    """A run that was never opened on purpose, as its tasks tell it."""
    states = {t.state for t in tasks}
    if states & {State.RUNNING, State.QUEUED, State.RETRY_WAIT, State.WAITING}:
        stands = RunState.OPEN
    elif states & {State.CONFIRMING, State.QUARANTINE}:
        stands = RunState.PAUSED
    elif states <= {State.SUCCESS, State.COMPENSATED, State.SKIPPED}:
        stands = RunState.DONE
    elif State.DEAD in states:
        stands = RunState.DEAD
    else:
        stands = RunState.FAILED
    return Run(
        id=run_id,
        state=stands,
        reason=None,
        session=tasks[0].session if tasks else None,
        intent=None,
        key=None,
        root_id=run_id,
        parent_run_id=None,
        used_tasks=sum(t.attempt for t in tasks),
        max_tasks=None,
        refused=0,
        created_at=certain(tasks[0].created_at if tasks else 0),
        ended_at=moment(max((t.ended_at or 0 for t in tasks), default=0)),
        implicit=True,
    )


def audit_entry(row: AuditRow) -> AuditEntry:
    """An audit entry as it is shown."""
    detail = as_json(row.detail, {})
    return AuditEntry(
        task_id=row.task_id,
        seq=row.seq,
        at=certain(row.at),
        verb=row.verb,
        source=state(row.source) if row.source else None,
        target=state(row.target) if row.target else None,
        by=row.actor,
        detail=detail if isinstance(detail, dict) else {"detail": detail},
        hash=row.hash,
    )
