"""AX: a controlled execution layer under an agent's tool calls.

Recorded before it acts; attempted at most once unless the tool says a repeat is safe; never silently unknown.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .decide.outcomes import DidNotHappen, Happened, Unknown
from .errors import (
    AXError,
    BudgetExceeded,
    Closed,
    ConfirmationPending,
    InvalidArguments,
    NotAllowed,
    NotApplied,
    OutcomeUnknown,
    PolicyError,
    Quarantined,
    Rejected,
    RequestConflict,
    ResultExpired,
    SessionBusy,
    StillRunning,
    StoreError,
    TaskCancelled,
    TaskDead,
    TaskTimeout,
    TaskUndone,
    ToolFailed,
    TransportError,
    UnknownTask,
    UnknownTool,
)
from .model import Budget, Run, Task, TaskHandle, Tree, Verdict
from .policy import Effect, Policy
from .states import RunState, State

if TYPE_CHECKING:
    from .app import AX
    from .dispatch import Context, current
    from .registry import Tool

__version__ = "0.1.0"

_LATER = {"AX": "app", "Context": "dispatch", "Tool": "registry", "current": "dispatch"}


def __getattr__(name: str) -> Any:
    # What pulls the larger parts in is imported when it is first asked for.
    if name in _LATER:
        from importlib import import_module

        value = getattr(import_module(f".{_LATER[name]}", __name__), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = [
    "AX",
    "AXError",
    "Budget",
    "BudgetExceeded",
    "Closed",
    "ConfirmationPending",
    "Context",
    "DidNotHappen",
    "Effect",
    "Happened",
    "InvalidArguments",
    "NotAllowed",
    "NotApplied",
    "OutcomeUnknown",
    "Policy",
    "PolicyError",
    "Quarantined",
    "Rejected",
    "RequestConflict",
    "ResultExpired",
    "Run",
    "RunState",
    "SessionBusy",
    "State",
    "StillRunning",
    "StoreError",
    "Task",
    "TaskCancelled",
    "TaskDead",
    "TaskHandle",
    "TaskTimeout",
    "TaskUndone",
    "Tool",
    "ToolFailed",
    "TransportError",
    "Tree",
    "Unknown",
    "UnknownTask",
    "UnknownTool",
    "Verdict",
    "current",
]
