"""Where a call stands: the run around it and the task around that, carried in context variables."""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .context import Context


@dataclass(frozen=True, slots=True)
class RunScope:
    """A run that was opened on purpose, as its block sees it."""

    id: str
    root_id: str
    ns: str
    session: str | None
    token: str


@dataclass(frozen=True, slots=True)
class Override:
    """What ``ax.override`` says for the calls inside its block."""

    request_id: str | None = None
    key: str | None = None
    dedupe: str | None = None
    repeat: str | None = None
    timeout: float | None = None
    extra: dict[str, Any] = field(default_factory=dict)


current_run: ContextVar[RunScope | None] = ContextVar("ax_run", default=None)
current_task: ContextVar[Context | None] = ContextVar("ax_task", default=None)
current_override: ContextVar[Override | None] = ContextVar("ax_override", default=None)
