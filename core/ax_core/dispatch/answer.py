"""What a caller gets for a task that came to rest: the value, the tool's own failure, or AX's verdict."""

from __future__ import annotations

from typing import Any

from ..approvals import EDITED
from ..codec import Opaque, Unreadable, decode_error, rebuild, safe_message
from ..decide import Outcome, Raised, Returned
from ..errors import (
    AXError,
    ConfirmationPending,
    InvalidArguments,
    OutcomeUnknown,
    Quarantined,
    Rejected,
    ResultExpired,
    StillRunning,
    StoreError,
    TaskCancelled,
    TaskDead,
    TaskTimeout,
    TaskUndone,
    ToolFailed,
)
from ..frozen import frozen
from ..model import TaskRow
from ..policy import Effect
from ..states import Reason, State
from ..view import as_mapping
from .wiring import Wiring

MOST_SAID = 3000
"""Characters of a tool's own message that go into ours; the exception itself is its cause."""


@frozen()
class Answer:
    """The end of a call.

    Attributes:
        value: what the tool returned; the live object of this very execution, else an equal one from the store.
        failure: the tool's answer is no; its ``__cause__`` is the tool's own exception.
        how: ``new``, ``replayed``, ``attached``, ``merged`` or ``in_the_way``.
        note: what a model is to be told besides.
        live: this caller's own execution produced it.
    """

    row: TaskRow
    value: Any = None
    failure: ToolFailed | None = None
    how: str = "new"
    note: str | None = None
    live: bool = False

    def get(self) -> Any:
        """The value; raises the failure."""
        if self.failure is not None:
            raise self.failure
        return self.value


def conclude(row: TaskRow, wiring: Wiring, how: str, note: str | None, outcome: Outcome | None) -> Answer:
    """The answer of a task as it stands.

    Args:
        outcome: how this caller's own execution ended, where it is what the row records.

    Raises:
        AXError: a verdict; see :func:`verdict`.
    """
    if row.state == State.SUCCESS:
        if row.purged:
            raise _expired(row)
        note = note or _told_edited(row)
        if isinstance(outcome, Returned):
            return Answer(row, outcome.value, how=how, note=note, live=True)
        return Answer(row, _stored_value(row, wiring), how=how, note=note or _told_again(row, how))
    if row.state == State.FAILED:
        live = outcome.error if isinstance(outcome, Raised) else None
        return Answer(row, failure=_failure(row, live), how=how, note=note, live=live is not None)
    raise verdict(row, note)


def _expired(row: TaskRow) -> AXError:
    return ResultExpired(
        f"task {row.id} ({row.tool}) was done; its result was purged since, and it was not run again",
        task_id=row.id,
        for_model=f"{row.tool} was already done with these arguments; its result is no longer kept. "
        "It was not executed again: do not repeat it.",
    )


def verdict(row: TaskRow, note: str | None = None) -> AXError:
    """AX's own answer for a task that has neither a result nor a failure of the tool."""
    state, reason = State(row.state), row.reason
    name = f"task {row.id} ({row.tool})"
    tail = f" {note}" if note else ""

    def say(kind: type[AXError], what: str, told: str) -> AXError:
        return kind(f"{name} {what}{tail}", task_id=row.id, for_model=told + tail)

    if state is State.QUARANTINE and reason == Reason.OUTCOME_UNKNOWN:
        return say(
            OutcomeUnknown,
            "may or may not have taken effect: resolve it before anything like it is issued again",
            f"UNKNOWN OUTCOME: {row.tool} was started and its end is not known; it may have taken effect. "
            f"It was not executed again. Do not repeat it; tell the user that a person is checking (task {row.id}).",
        )
    if state is State.QUARANTINE and reason == Reason.INVALID_ARGS:
        message = str(as_mapping(row.error).get("message", "the arguments do not fit"))
        return say(InvalidArguments, f"was not run: {message}", message)
    if state is State.QUARANTINE:
        return say(
            Quarantined,
            f"is quarantined ({reason}): a person must look before it runs",
            f"{row.tool} was not executed: a person must look at it first (task {row.id}). Do not repeat it.",
        )
    if state is State.CONFIRMING:
        return say(
            ConfirmationPending,
            "waits for a person's approval",
            f"PENDING APPROVAL: {row.tool} was not executed yet; a person must approve it first (task {row.id}). "
            "Do not issue it again; tell the user it waits for approval.",
        )
    if state is State.TIMEOUT:
        return say(
            TaskTimeout,
            "ran out of time; nothing happened, or a repeat is harmless",
            f"{row.tool} ran out of time. Nothing happened, or a repeat is harmless: you may try once more.",
        )
    if state is State.CANCELLED:
        return _cancelled(row, name, tail)
    if state is State.COMPENSATED:
        return say(
            TaskUndone,
            "was done and later undone",
            f"{row.tool} was done and has since been undone. Its result no longer holds. Do not assume it.",
        )
    if state in (State.DEAD, State.SKIPPED):
        return say(
            TaskDead,
            f"is {state} ({reason}) and was given up; a person may requeue it",
            f"{row.tool} was given up ({reason}). It was not completed; do not repeat it, tell the user.",
        )
    return say(
        StillRunning,
        f"is {state}{f' ({reason})' if reason else ''}; the wait ran out, the task goes on",
        f"{row.tool} has not finished yet (task {row.id}); it goes on. It was not started a second time: "
        "do not repeat it.",
    )


def damaged(row: TaskRow) -> StoreError:
    """What a caller is told whose task stands in a state that this AX does not know."""
    return StoreError(
        f"task {row.id} ({row.tool}) is in the unknown state {row.state!r}: its row is damaged, or of another version "
        "of AX; restore it from a backup, or see `axd audit` for what it went through. It was not run",
        task_id=row.id,
        for_model=f"{row.tool} was not executed: the record of this call is damaged. Tell the user (task {row.id}).",
    )


def _cancelled(row: TaskRow, name: str, tail: str) -> AXError:
    if row.reason == Reason.REJECTED:
        why = _why_rejected(row)
        text = f' The reviewer says: "{why}"' if why else ""
        return Rejected(
            f"{name} was rejected by a person{text}{tail}",
            task_id=row.id,
            for_model=f"REJECTED: a person refused {row.tool}; it was not executed.{text} "
            "Do not issue it again unchanged.",
        )
    if row.reason == Reason.APPROVAL_EXPIRED:
        return Rejected(
            f"{name} was not approved in time and was not executed{tail}",
            task_id=row.id,
            for_model=f"{row.tool} was not executed: nobody approved it in time. Ask the user before trying again.",
        )
    doubt = " It may have been partly done." if row.maybe_applied else ""
    by = "by a person" if row.reason in (Reason.BY_USER, Reason.RESOLVED) else "because its request has ended"
    return TaskCancelled(
        f"{name} was cancelled ({row.reason}).{doubt}{tail}",
        task_id=row.id,
        for_model=f"{row.tool} was cancelled {by}.{doubt} Do not repeat it.",
    )


def _why_rejected(row: TaskRow) -> str:
    return str(as_mapping(row.error).get("reviewer", ""))


def _stored_value(row: TaskRow, wiring: Wiring) -> Any:
    if row.result is None:
        return None
    value = wiring.codec.readable(row.result)
    if isinstance(value, Unreadable):
        raise StoreError(
            f"task {row.id} ({row.tool}) succeeded, but its stored result cannot be read ({value}); "
            "it was not run again",
            task_id=row.id,
            for_model=f"{row.tool} was done, but its result can no longer be read. It was not executed again.",
        )
    return value


def _told_edited(row: TaskRow) -> str | None:
    if not row.approved or not row.notes or EDITED not in row.notes:
        return None
    return (
        f"A person changed the arguments of {row.tool} before it ran; this is the result of {row.payload[:500]}. "
        "Do not issue your own version again."
    )


def unrecorded(row: TaskRow, error: BaseException) -> BaseException:
    """What a caller is told whose tool ran, where the store refused to hear how it ended."""
    if not isinstance(error, StoreError) or error.task_id is not None:
        return error
    harmless = Effect(row.effect).repeatable
    told = StoreError(
        f"task {row.id} ({row.tool}) ran, but how it ended could not be recorded: {error}. "
        f"This process keeps the end, and records it once it can. On record it is running; if the process ends before, "
        f"it will be {'tried again for whoever asks' if harmless else 'in doubt, for a person to resolve'} "
        "once its lease is over",
        task_id=row.id,
        for_model=f"{row.tool} was executed, but its result could not be recorded. "
        + (
            "You may try again." if harmless else f"Do not repeat it; tell the user to check (task {row.id})."
        ),
    )
    told.__cause__ = error
    return told


def _told_again(row: TaskRow, how: str) -> str | None:
    if how == "merged":
        return (
            f"{row.tool} was already done with these arguments in this request; this is that result. "
            "Nothing was executed again."
        )
    if how == "in_the_way":
        return f"An equal call of {row.tool} was already under way; this is its result. Nothing was executed again."
    return None


def _failure(row: TaskRow, live: BaseException | None) -> ToolFailed:
    stored = decode_error(row.error) if row.error else None
    cause = live if live is not None else rebuild(stored) if stored is not None else None
    what = (
        f"{type(cause).__name__}: {_cut(safe_message(cause))}"
        if cause is not None
        else "its error is no longer kept"
        if row.purged
        else "a person resolved that it did not happen"
    )
    doubt = (
        f" It may have taken effect all the same and was not repeated; do not issue it again (task {row.id})."
        if row.maybe_applied
        else ""
    )
    failure = ToolFailed(
        f"task {row.id} ({row.tool}) failed: {what}{' (it may have been applied)' if row.maybe_applied else ''}",
        task_id=row.id,
        for_model=f"{row.tool} failed: {what}.{doubt}",
        maybe_applied=bool(row.maybe_applied),
    )
    failure.__cause__ = cause
    return failure


def _cut(text: str) -> str:
    return text if len(text) <= MOST_SAID else f"{text[:MOST_SAID]}… ({len(text)} characters)"


def opaque(value: Any) -> bool:
    """Whether a stored result is only a placeholder."""
    return isinstance(value, Opaque)
