"""The nouns of AX as frozen data: rows as the store keeps them, and what users read."""

from .nouns import Attempt, AuditEntry, Budget, Page, Run, RunPage, Task, TaskHandle, Tree, Verdict
from .rows import (
    PURGED,
    ApprovalRow,
    AttemptRow,
    AuditRow,
    IdempotencyRow,
    LockRow,
    RequestRow,
    RunRow,
    TaskRow,
    ToolRow,
)

__all__ = [
    "PURGED",
    "ApprovalRow",
    "Attempt",
    "AttemptRow",
    "AuditEntry",
    "AuditRow",
    "Budget",
    "IdempotencyRow",
    "LockRow",
    "Page",
    "RequestRow",
    "Run",
    "RunPage",
    "RunRow",
    "Task",
    "TaskHandle",
    "TaskRow",
    "ToolRow",
    "Tree",
    "Verdict",
]
