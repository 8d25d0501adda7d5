"""What users give and read: budgets, tasks, runs, trees, pages and verdicts."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple

from .. import html
from ..errors import PolicyError
from ..states import RunState, State


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
    def purged(self) -> bool:
        """Whether its arguments and its result were let go of."""
        return self.payload is None

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

    @property
    def used(self) -> str:
        """How much of its tasks is used, in words."""
        return f"{self.used_tasks}{'' if self.max_tasks is None else f' of {self.max_tasks}'} tasks"


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


class RunPage(NamedTuple):
    """A page of runs, newest first, and the cursor of the next one (None: that was the last)."""

    runs: tuple[Run, ...]
    after: str | None

    def _repr_html_(self) -> str:
        return html.run_page(self.runs, self.after is not None)


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
