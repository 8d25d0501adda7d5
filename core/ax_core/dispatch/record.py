"""Recording how an attempt ended: decided by the table, written under the fence, or kept as late evidence."""

from __future__ import annotations

import dataclasses
import json

from ..clock import Micros
from ..codec import encode_error
from ..compensation import ORIGIN
from ..control import late
from ..control.recover import facts
from ..decide import (
    SUCCEEDED,
    Decision,
    Lost,
    Outcome,
    Raised,
    Returned,
    Stopped,
    TimedOut,
    decide,
    delay,
)
from ..errors import AXError, TaskCancelled, TaskTimeout
from ..frozen import frozen
from ..model import TaskRow
from ..policy import Effect, Policy
from ..sessions import settle as settle_run
from ..states import FINAL, Reason, State
from ..store import Alone, Op, Tx, attempts, tasks, transitions
from .repeat import guarded
from .wiring import Wiring


@frozen()
class Written:
    """What was recorded: the task as it stands, whether this ending is its state, and what to tell the model."""

    row: TaskRow
    accepted: bool
    note: str | None = None
    refusal: AXError | None = None


@frozen()
class Stored:
    """An outcome as text, made before the transaction."""

    name: str
    result: str | None
    error: str | None
    note: str | None
    not_applied: bool


def stored(outcome: Outcome, wiring: Wiring) -> Stored:
    """Encode an outcome; never raises, whatever the tool returned or raised."""
    match outcome:
        case Returned(value=value):
            encoded = wiring.codec.encode(value)
            return Stored("returned", encoded.text, None, encoded.note, False)
        case Raised(error=error, not_applied=not_applied, text=text):
            if text is None and error is not None:
                text = encode_error(error)
            return Stored("raised", None, text, None, not_applied)
        case TimedOut():
            text = json.dumps({"type": "TaskTimeout", "message": "the time ran out"})
            return Stored("timeout", None, text, None, False)
        case Stopped():
            return Stored("stopped", None, None, None, False)
        case Lost(entered=entered):
            return Stored("lost", None, None, None, not entered)
        case _:
            return Stored(type(outcome).__name__.lower(), None, None, None, False)


def record(
    wiring: Wiring, row: TaskRow, policy: Policy, outcome: Outcome, kept: Stored, in_run: bool
) -> Op[Written]:
    """Write the end of the attempt that ``row`` shows; where it is no longer the task's, it is kept as evidence."""

    def op(tx: Tx) -> Written:
        now = wiring.clock.now()
        if isinstance(outcome, Returned):
            seen, decision, due = row, SUCCEEDED, None
        else:
            # Anything but a success is judged on the newest facts: a cancel may have come meanwhile.
            fresh = tasks.get(tx, row.id)
            if fresh is None or fresh.state != State.RUNNING or fresh.fence != row.fence:
                return _too_late(tx, wiring, row, outcome, kept, now)
            seen = fresh
            decision, due = _judged(seen, outcome, policy, now, wiring)
        if not isinstance(outcome, Returned) or row.attempt > 1:
            attempts.keep(tx, seen, kept.name, now, error=kept.error, closed=decision.closed)
        step = transitions.end(
            seen,
            decision,
            now,
            verb=kept.name,
            result=kept.result,
            error=kept.error,
            due_at=due,
            detail={"note": kept.note} if kept.note else None,
        )
        moved = tasks.move(tx, seen, step, now, wiring.owner, wiring.tell())
        if moved is None:
            return _too_late(tx, wiring, row, outcome, kept, now)
        if moved.origin == ORIGIN and moved.state == State.SUCCESS:
            _undone(tx, moved, now, wiring)
        if moved.origin == "submit" and in_run and moved.state in FINAL:
            settle_run(tx, moved.run_id, now)  # the block of its run may have ended before it
        note, ended = guarded(tx, moved, Effect(moved.effect), wiring, row.run_id) if in_run else (None, None)
        return Written(moved, True, note, ended)

    plain = isinstance(outcome, Returned) and row.attempt <= 1 and not in_run and row.origin != ORIGIN
    return Alone(op) if plain else op


def _judged(
    row: TaskRow, outcome: Outcome, policy: Policy, now: Micros, wiring: Wiring
) -> tuple[Decision, Micros | None]:
    """What an ending other than a success comes to, and when the next attempt is due."""
    undoing = row.origin == ORIGIN
    waited = row.origin == "call" or (not undoing and wiring.waiters.any(row.id))
    decision = decide(facts(row, waited=waited), outcome)
    if undoing and decision.reason is Reason.RETRIES_EXHAUSTED:
        decision = dataclasses.replace(decision, reason=Reason.COMPENSATION_FAILED)
    if not decision.retry:
        return decision, None
    after = outcome.retry_after if isinstance(outcome, Raised) else None
    return decision, now + delay(policy.backoff, row.failures + 1, after, wiring.clock.random())


def _undone(tx: Tx, undo: TaskRow, now: int, wiring: Wiring) -> None:
    """What was undone says so, in the commit of its undoing."""
    target = tasks.get(tx, undo.parent_id or "")
    if target is not None and target.state == State.SUCCESS:
        tasks.move(tx, target, transitions.undone(now, undo.id), now, wiring.owner, wiring.tell())


def _too_late(tx: Tx, wiring: Wiring, row: TaskRow, outcome: Outcome, kept: Stored, now: int) -> Written:
    if (
        isinstance(outcome, TimedOut) and not outcome.closed
    ):  # the body was faster, or somebody decided: nothing new
        return Written(tasks.get(tx, row.id) or row, False)
    after = late(
        tx,
        row.id,
        row.fence,
        kept.name,
        kept.result,
        kept.error,
        kept.not_applied,
        now,
        wiring.owner,
        wiring.tell,
    )
    return Written(after or row, False)


def mark(wiring: Wiring, row: TaskRow) -> Op[None]:
    """Record that the tool acts now, if it still may."""

    def op(tx: Tx) -> None:
        now = wiring.clock.now()
        fresh = tasks.get(tx, row.id)
        if fresh is None or fresh.state != State.RUNNING or fresh.fence != row.fence:
            raise TaskCancelled("this attempt is no longer the task's; it must not act", task_id=row.id)
        if fresh.cancel_requested:
            raise TaskCancelled("the task was asked to stop", task_id=row.id)
        if fresh.deadline_at is not None and now >= fresh.deadline_at:
            raise TaskTimeout("the deadline passed before the tool acted", task_id=row.id)
        if fresh.acted_at is None and tasks.move(tx, fresh, transitions.mark(now), now, wiring.owner) is None:
            raise TaskCancelled("this attempt is no longer the task's; it must not act", task_id=row.id)

    return op
