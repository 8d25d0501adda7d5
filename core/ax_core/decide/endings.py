"""From an ending to the next state: the one place where an outcome is judged."""

from __future__ import annotations

from dataclasses import dataclass
from typing import assert_never

from ..policy import Effect
from ..states import Reason, State
from .outcomes import Lost, Outcome, Paused, Raised, Returned, Stopped, TimedOut

POISON = 5
"""Interruptions after which a task is given up, however harmless a repeat would be."""


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known of a task when an attempt of it ends.

    Args:
        acted: ``about_to_act`` was recorded for this attempt.
        failures: attempts that failed or timed out before this one.
        interruptions: interruptions before this one.
        waited: somebody waits for the answer; with nobody, exhausted retries are a dead letter.
    """

    effect: Effect
    marks_effect: bool = False
    acted: bool = False
    failures: int = 0
    interruptions: int = 0
    max_attempts: int = 1
    cancel_requested: bool = False
    waited: bool = True

    @property
    def in_doubt(self) -> bool:
        """Whether this attempt may have had an effect that must not be repeated."""
        return not self.effect.repeatable and (self.acted or not self.marks_effect)


@dataclass(frozen=True, slots=True)
class Decision:
    """The next state of a task.

    ``retry``: RETRY_WAIT for a delay the caller draws. ``closed``: the attempt is over. ``failure`` and
    ``interruption``: which counter this ending adds to.
    """

    state: State
    reason: Reason | None = None
    maybe_applied: bool = False
    closed: bool = True
    failure: bool = False
    interruption: bool = False

    @property
    def retry(self) -> bool:
        """Whether another attempt follows by itself."""
        return self.state is State.RETRY_WAIT


SUCCEEDED = Decision(State.SUCCESS)
"""What a body that came back has earned, whatever is known of its task."""


def decide(facts: Facts, outcome: Outcome) -> Decision:
    """The ending table: what becomes of a task whose attempt ended in ``outcome``."""
    match outcome:
        case Returned():
            return SUCCEEDED
        case Raised(not_applied=not_applied):
            return _raised(facts, not_applied)
        case TimedOut(closed=closed, entered=entered):
            return _timed_out(facts, closed, entered)
        case Lost(entered=entered):
            return _lost(facts, entered)
        case Paused():
            if facts.acted:
                return _doubt()
            return Decision(State.WAITING, Reason.PAUSED)
        case Stopped(by_itself=by_itself):
            if facts.in_doubt and not by_itself:
                return _doubt()
            return Decision(State.CANCELLED, Reason.BY_USER, maybe_applied=facts.in_doubt)
        case _:
            assert_never(outcome)


def _raised(facts: Facts, not_applied: bool) -> Decision:
    if not_applied or not facts.in_doubt:
        # An undeclared tool never said that a repeat is safe, so its failure is simply the answer.
        retryable = facts.effect is not Effect.UNDECLARED
        return _again_or(facts, retryable, Decision(State.FAILED, failure=True))
    return Decision(State.FAILED, maybe_applied=facts.effect is Effect.UNSAFE, failure=True)


def _timed_out(facts: Facts, closed: bool, entered: bool) -> Decision:
    if facts.in_doubt and entered:
        return _doubt(closed=closed, failure=True)
    # A marked tool that did not mark yet cannot act later: the mark is refused after the deadline.
    retryable = facts.effect is not Effect.UNDECLARED
    return _again_or(facts, retryable, Decision(State.TIMEOUT, closed=closed, failure=True))


def _lost(facts: Facts, entered: bool) -> Decision:
    if facts.in_doubt and entered:
        return _doubt(interruption=True)
    if facts.cancel_requested:
        return Decision(State.CANCELLED, Reason.BY_USER, interruption=True)
    if entered and facts.interruptions + 1 >= POISON:
        return Decision(State.DEAD, Reason.POISON, interruption=True)
    return Decision(State.QUEUED, Reason.INTERRUPTED, interruption=entered)


def _again_or(facts: Facts, retryable: bool, otherwise: Decision) -> Decision:
    left = facts.failures + 1 < facts.max_attempts
    if facts.cancel_requested:
        return Decision(State.CANCELLED, Reason.BY_USER, closed=otherwise.closed, failure=True)
    if retryable and left:
        return Decision(State.RETRY_WAIT, closed=otherwise.closed, failure=True)
    if retryable and facts.max_attempts > 1 and not facts.waited:
        return Decision(State.DEAD, Reason.RETRIES_EXHAUSTED, closed=otherwise.closed, failure=True)
    return otherwise


def _doubt(*, closed: bool = True, failure: bool = False, interruption: bool = False) -> Decision:
    return Decision(
        State.QUARANTINE, Reason.OUTCOME_UNKNOWN, closed=closed, failure=failure, interruption=interruption
    )
