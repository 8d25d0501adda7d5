"""The moves of a task by name: what each one writes besides the state."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any

from ..clock import Micros
from ..decide import Decision
from ..frozen import frozen
from ..model import TaskRow
from ..states import FINAL, Reason, State


@frozen()
class Transition:
    """One move. ``target`` None: the state stays, and something else about the task is recorded."""

    verb: str
    target: State | None
    changes: Mapping[str, Any] = field(default_factory=dict)
    detail: Mapping[str, Any] | None = None


def claim(
    row: TaskRow,
    owner: str,
    now: Micros,
    lease: Micros,
    deadline: Micros | None,
    verb: str = "claim",
    **changed: Any,
) -> Transition:
    """A new attempt under a new fence; ``changed`` is what its tool promises otherwise than when it was submitted."""
    return Transition(
        verb,
        State.RUNNING,
        {
            "reason": None,
            "attempt": row.attempt + 1,
            "fence": row.fence + 1,
            "owner": owner,
            "lease_until": now + lease,
            "attempt_open": 1,
            "acted_at": None,
            "maybe_applied": 0,
            "overdue": 0,
            "due_at": None,
            "deadline_at": deadline,
            "started_at": now,
            "ended_at": None,
            "error": None,
            **changed,
        },
        {"attempt": row.attempt + 1, "owner": owner, **changed},
    )


def end(
    row: TaskRow,
    decision: Decision,
    now: Micros,
    *,
    verb: str,
    result: str | None = None,
    error: str | None = None,
    due_at: Micros | None = None,
    detail: Mapping[str, Any] | None = None,
) -> Transition:
    """The end of an attempt, as decided."""
    changes: dict[str, Any] = {
        "reason": str(decision.reason) if decision.reason else None,
        "lease_until": None,
        "attempt_open": 0 if decision.closed else 1,
        "ended_at": now if decision.state in FINAL else None,
    }
    if decision.state is State.SUCCESS:
        changes["result"] = result
        if row.error is not None:
            changes["error"] = None
    else:
        changes |= {
            "error": error,
            "maybe_applied": int(decision.maybe_applied),
            "failures": row.failures + decision.failure,
            "interruptions": row.interruptions + decision.interruption,
            "due_at": due_at,
        }
    return Transition(verb, decision.state, changes, detail)


def note(verb: str, detail: Mapping[str, Any] | None = None, **changes: Any) -> Transition:
    """Something worth a record that moves nothing."""
    return Transition(verb, None, changes, detail)


def overdue() -> Transition:
    """It runs longer than anybody should wait unwarned; an equal call is held back from now on."""
    return note("overdue", overdue=1)


def mark(now: Micros) -> Transition:
    """The tool is about to act: from here on a crash leaves the outcome in doubt."""
    return note("about_to_act", acted_at=now)


def request_cancel() -> Transition:
    """A running task is asked to stop; it ends when its executor records how."""
    return note("cancel_requested", cancel_requested=1)


def cancel(
    reason: Reason, detail: Mapping[str, Any] | None, now: Micros, error: str | None = None
) -> Transition:
    """A task that does not run is cancelled at once."""
    changes = {"reason": reason.value, "ended_at": now, "due_at": None}
    if error is not None:
        changes["error"] = error
    return Transition("reject" if reason is Reason.REJECTED else "cancel", State.CANCELLED, changes, detail)


def queue(
    verb: str, reason: Reason | None = None, detail: Mapping[str, Any] | None = None, **changes: Any
) -> Transition:
    """Ready again, for whoever may run it."""
    return Transition(
        verb,
        State.QUEUED,
        {"reason": reason.value if reason else None, "due_at": None, "ended_at": None, **changes},
        detail,
    )


def ask(verb: str, tool_version: str, detail: Mapping[str, Any] | None = None, **changes: Any) -> Transition:
    """A person must approve it, once more: an approval is good for one execution."""
    return Transition(
        verb,
        State.CONFIRMING,
        {
            "reason": None,
            "approved": 0,
            "tool_version": tool_version,
            "due_at": None,
            "ended_at": None,
            "error": None,
            **changes,
        },
        detail,
    )


def settle(
    verb: str,
    target: State,
    now: Micros,
    *,
    reason: Reason | None = None,
    result: str | None = None,
    error: str | None = None,
    maybe_applied: bool = False,
    closed: bool = True,
    detail: Mapping[str, Any] | None = None,
) -> Transition:
    """A doubt is settled, by late evidence, by ``reconcile`` or by a person.

    A person's word does not end a body that still runs: not ``closed``, its attempt stays open as it was.
    """
    changes: dict[str, Any] = {
        "reason": reason.value if reason else None,
        "ended_at": now,
        "maybe_applied": int(maybe_applied),
        "due_at": None,
    }
    if closed:
        changes["attempt_open"] = 0
    if target is State.SUCCESS:
        changes |= {"result": result, "error": None}
    elif error is not None:
        changes["error"] = error
    return Transition(verb, target, changes, detail)


def die(verb: str, reason: Reason, now: Micros, detail: Mapping[str, Any] | None = None) -> Transition:
    """Given up: a dead letter."""
    return Transition(verb, State.DEAD, {"reason": reason.value, "ended_at": now, "due_at": None}, detail)


def quarantine(verb: str, reason: Reason, now: Micros, detail: Mapping[str, Any] | None = None) -> Transition:
    """A person must look before anything may run."""
    return Transition(verb, State.QUARANTINE, {"reason": reason.value, "ended_at": now}, detail)


def undone(now: Micros, by_task: str) -> Transition:
    """A success that its compensation took back."""
    return Transition("compensated", State.COMPENSATED, {"ended_at": now}, {"by": by_task})
