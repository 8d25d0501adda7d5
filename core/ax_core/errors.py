"""The errors of AX: one tree, so that ``except AXError`` catches all of it.

::

    AXError
    ├── ToolFailed            the tool's answer is no (chains the tool's own exception)
    ├── TaskTimeout           time ran out; nothing can have happened, or a repeat is harmless
    ├── StillRunning          only the wait ran out; the task goes on (also a TimeoutError)
    ├── Quarantined           a person must look before anything may run
    │   └── OutcomeUnknown    the effect may or may not have happened
    ├── ConfirmationPending   waits for a person's approval
    ├── Rejected              a person said no, or the approval expired
    ├── TaskCancelled         cancelled before it acted
    ├── TaskDead              given up: poison, exhausted retries, a failed compensation
    ├── TaskUndone            it succeeded and was later undone by its compensation
    ├── ResultExpired         it succeeded, and its result was purged since
    ├── BudgetExceeded        the run has no more tasks, rounds, seconds or cost units
    ├── SessionBusy           another chain holds the session
    ├── RequestConflict       a known request or key came back with other arguments
    ├── UnknownTool           no tool of that name is registered
    ├── UnknownTask           no task or run of that id is stored
    ├── PolicyError           a policy, schema or registration is invalid
    ├── NotAllowed            a verb that the task's state does not permit
    ├── StoreError            the database refused: locked, full, read-only, corrupt, newer schema
    ├── TransportError        the queue cannot be used: away, too old, not allowed to; no task is lost by it
    │   └── NoSource          the queue's own workers do the fetching
    └── Closed                this AX was closed

    NotApplied                raised BY a tool: "I refused before doing anything"
"""

from __future__ import annotations


class AXError(Exception):
    """Every verdict of AX is one of these.

    Attributes:
        code: stable machine name, e.g. ``"outcome_unknown"``.
        safe_to_repeat: whether issuing the same call again can do no harm.
        task_id: the task it speaks of, or None where none was recorded.
        for_model: what a model should read: what happened, whether it may try again.
    """

    code = "error"
    safe_to_repeat = False

    def __init__(self, message: str, *, task_id: str | None = None, for_model: str | None = None) -> None:
        super().__init__(message)
        self.task_id = task_id
        self.for_model = for_model or message


class ToolFailed(AXError):
    """The tool's answer is no; ``__cause__`` is the tool's own exception where it is still alive."""

    code = "failed"

    def __init__(
        self,
        message: str,
        *,
        task_id: str | None = None,
        for_model: str | None = None,
        maybe_applied: bool = False,
    ) -> None:
        super().__init__(message, task_id=task_id, for_model=for_model)
        self.maybe_applied = maybe_applied
        self.safe_to_repeat = not maybe_applied


class TaskTimeout(AXError):
    """Time ran out and nothing can have happened, or a repeat is harmless."""

    code = "timeout"
    safe_to_repeat = True


class StillRunning(AXError, TimeoutError):
    """Only the wait ran out: the task goes on, and waiting again is right."""

    code = "still_running"
    safe_to_repeat = True


class Quarantined(AXError):
    """A person must look before anything may run."""

    code = "quarantined"


class OutcomeUnknown(Quarantined):
    """The effect may or may not have happened; it must not be issued again."""

    code = "outcome_unknown"


class InvalidArguments(Quarantined):
    """The arguments do not fit the tool's schema; the tool was not entered."""

    code = "invalid_args"
    safe_to_repeat = True


class ConfirmationPending(AXError):
    """The call is recorded and waits for a person's approval."""

    code = "confirmation_pending"


class Rejected(AXError):
    """A person said no, or nobody said yes in time."""

    code = "rejected"


class TaskCancelled(AXError):
    """The task was cancelled."""

    code = "cancelled"


class TaskDead(AXError):
    """AX gave up on the task; it lies in the dead letters for a person."""

    code = "dead"


class TaskUndone(AXError):
    """The task succeeded and was later undone."""

    code = "undone"


class ResultExpired(AXError):
    """The task succeeded; its result was purged since, and it was not run again."""

    code = "result_expired"


class BudgetExceeded(AXError):
    """The run may do no more; ``extend`` lets it go on."""

    code = "budget_exceeded"


class SessionBusy(AXError):
    """Another chain holds the session; ``run_id`` says which."""

    code = "session_busy"
    safe_to_repeat = True

    def __init__(self, message: str, *, run_id: str | None = None, for_model: str | None = None) -> None:
        super().__init__(message, for_model=for_model)
        self.run_id = run_id


class RequestConflict(AXError):
    """A known request id or idempotency key came back with other arguments."""

    code = "request_conflict"


class UnknownTool(AXError):
    """No tool of that name is registered here."""

    code = "unknown_tool"
    safe_to_repeat = True


class UnknownTask(AXError):
    """No task or run of that id is stored."""

    code = "unknown_task"


class PolicyError(AXError):
    """A policy, schema or registration is invalid: refused before anything could run under it."""

    code = "policy_error"


class NotAllowed(AXError):
    """The verb does not apply to the state the task is in; the message says what was decided and by whom."""

    code = "not_allowed"


class StoreError(AXError):
    """The database refused; the message says why and what to do."""

    code = "store_error"


class TransportError(AXError):
    """The queue cannot be used; the message says why and what to do. What is recorded stays recorded."""

    code = "transport_error"


class NoSource(TransportError):
    """Jobs of this queue are fetched by its own workers, so AX's have nothing to fetch from it."""

    code = "no_source"


class Closed(AXError):
    """This AX was closed."""

    code = "closed"


class NotApplied(Exception):
    """Raised by a tool that refused before doing anything: the effect certainly did not happen."""
