"""The nouns of AX as frozen data: rows as the store keeps them, and what users read."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple

from . import html
from .clock import Micros
from .errors import PolicyError
from .states import RunState, State


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


@dataclass(frozen=True, slots=True)
class Budget:
    """What a run may use at most; None is unlimited, zero is nothing.

    Args:
        tasks: attempts in the whole tree, sub-runs and retries included.
        rounds: decision rounds of the model.
        seconds: wall time, not counted while only people are waited for.
        cost: cost units, as tools report them with ``ctx.spend``.

    Raises:
        PolicyError: a value below zero, or that is no number.
    """

    tasks: int | None = 50
    rounds: int | None = None
    seconds: float | None = None
    cost: int | None = None

    def __post_init__(self) -> None:
        for name in ("tasks", "rounds", "seconds", "cost"):
            value = getattr(self, name)
            kinds = (int, float) if name == "seconds" else (int,)
            if value is not None and (
                isinstance(value, bool) or not isinstance(value, kinds) or not value >= 0
            ):
                raise PolicyError(
                    f"Budget({name}={value!r}) must be a number, zero or more; None is unlimited"
                )


@dataclass(frozen=True, slots=True)
class Attempt:
    """One try at a task. ``closed`` says that its owner recorded the end or is gone; ``late_*`` is what came after."""

    number: int
    fence: int
    owner: str | None
    started_at: datetime | None
    ended_at: datetime | None
    outcome: str
    error: dict[str, Any] | None
    closed: bool
    acted_at: datetime | None = None
    late_at: datetime | None = None
    late_outcome: str | None = None
    late_result: Any = None


@dataclass(frozen=True, slots=True)
class Task:
    """What is known of one task: the answer of ``ax.get``."""

    id: str
    run_id: str
    parent_id: str | None
    session: str | None
    tool: str
    tool_version: str
    effect: str
    origin: str
    state: State
    reason: str | None
    payload: Any
    result: Any
    error: dict[str, Any] | None
    notes: tuple[str, ...]
    request_id: str | None
    idempotency_key: str
    attempts: int
    max_attempts: int
    interruptions: int
    maybe_applied: bool
    cancel_requested: bool
    approved: bool
    overdue: bool
    replays: int
    created_at: datetime
    started_at: datetime | None
    ended_at: datetime | None
    due_at: datetime | None
    address: dict[str, Any]
    history: tuple[Attempt, ...] = ()
    approval: dict[str, Any] | None = None

    @property
    def replayed(self) -> bool:
        """Whether a resubmission was answered from this record."""
        return self.replays > 0

    def _repr_html_(self) -> str:
        return html.task(self)


@dataclass(frozen=True, slots=True)
class Run:
    """What is known of one run. ``implicit`` runs were opened by a call, not on purpose, and have no budget."""

    id: str
    state: RunState
    reason: str | None
    session: str | None
    intent: str | None
    key: str | None
    root_id: str
    parent_run_id: str | None
    used_tasks: int
    max_tasks: int | None
    refused: int
    created_at: datetime
    ended_at: datetime | None
    implicit: bool = False


@dataclass(frozen=True, slots=True)
class Tree:
    """A run with everything under it, in order of creation."""

    run: Run
    tasks: tuple[Task, ...]
    runs: tuple[Tree, ...] = ()

    def _repr_html_(self) -> str:
        return html.tree(self)


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """One change of one task: what, from where to where, by whom, and the hash that chains it."""

    task_id: str
    seq: int
    at: datetime
    verb: str
    source: State | None
    target: State | None
    by: str
    detail: dict[str, Any] = field(default_factory=dict)
    hash: str = ""


class TaskHandle(str):
    """A task's id that also tells how the submission was answered.

    Attributes:
        replayed: the request was known; nothing new was recorded.
        merged_into: the id of the task that an equal call already had, else None.
        state: the state at submission.
    """

    __slots__ = ("merged_into", "replayed", "state")

    replayed: bool
    merged_into: str | None
    state: State

    @classmethod
    def of(cls, task_id: str, state: State, *, replayed: bool = False, merged: bool = False) -> TaskHandle:
        """The handle of a task, as a submission was answered."""
        handle = cls(task_id)
        handle.replayed, handle.state = replayed, state
        handle.merged_into = task_id if merged else None
        return handle


class Page(NamedTuple):
    """A page of tasks, newest first, and the cursor of the next one (None: that was the last)."""

    tasks: tuple[Task, ...]
    after: str | None

    def _repr_html_(self) -> str:
        return html.page(self.tasks, self.after is not None)


@dataclass(frozen=True, slots=True)
class Verdict:
    """What an operator verb did: whether it was this call that decided, and what stands now.

    Attributes:
        done: this call made the change (a second click gets False).
        task_id: the task (or run) it speaks of.
        state: the state after it.
        message: for a person: what was decided, by whom, and who will run it.
    """

    done: bool
    task_id: str
    state: str
    message: str

    def __bool__(self) -> bool:
        return self.done

    def _repr_html_(self) -> str:
        return html.verdict(self)
