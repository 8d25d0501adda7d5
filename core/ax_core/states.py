"""The states of a task and a run, and the only moves between them.

This table is the source of the diagram in the docs, of the CLI's help and of a property test. Every write
of a state goes through a transition named here (`store.transitions`), as one guarded UPDATE.
"""

from __future__ import annotations

from enum import StrEnum


class State(StrEnum):
    """Where a task stands. Only RUNNING may have side effects."""

    QUEUED = "QUEUED"
    WAITING = "WAITING"
    CONFIRMING = "CONFIRMING"
    RUNNING = "RUNNING"
    RETRY_WAIT = "RETRY_WAIT"
    SUCCESS = "SUCCESS"
    FAILED = "FAILED"
    TIMEOUT = "TIMEOUT"
    QUARANTINE = "QUARANTINE"
    CANCELLED = "CANCELLED"
    SKIPPED = "SKIPPED"
    DEAD = "DEAD"
    COMPENSATED = "COMPENSATED"


class RunState(StrEnum):
    """Where a run stands. A run executes nothing itself and holds no lease."""

    OPEN = "OPEN"
    PAUSED = "PAUSED"
    DONE = "DONE"
    FAILED = "FAILED"
    CANCELLED = "CANCELLED"
    DEAD = "DEAD"
    ROLLED_BACK = "ROLLED_BACK"


class Reason(StrEnum):
    """Why a task stands where it stands: a qualifier of its state."""

    INVALID_ARGS = "invalid_args"
    OUTCOME_UNKNOWN = "outcome_unknown"
    POLICY_CHANGED = "policy_changed"
    BY_USER = "by_user"
    REJECTED = "rejected"
    APPROVAL_EXPIRED = "approval_expired"
    SUPERSEDED = "superseded"
    RUN_ENDED = "run_ended"
    DEPENDENCY = "dependency"
    SESSION = "session"
    PAUSED = "paused"
    POISON = "poison"
    BUDGET = "budget"
    RETRIES_EXHAUSTED = "retries_exhausted"
    COMPENSATION_FAILED = "compensation_failed"
    ROLLING_BACK = "rolling_back"
    INTERRUPTED = "interrupted"
    REPEAT_GUARD = "repeat_guard"
    RESOLVED = "resolved"
    EXPIRED_BEFORE_START = "expired_before_start"


OPEN: frozenset[State] = frozenset(
    {State.QUEUED, State.WAITING, State.CONFIRMING, State.RUNNING, State.RETRY_WAIT}
)
"""States that will still change by themselves or wait for somebody who was asked."""

FINAL: frozenset[State] = frozenset(State) - OPEN
"""States that stay until an operator verb or a resubmission moves them, if anything may."""

_S = State

TRANSITIONS: dict[str | None, frozenset[State]] = {
    # None: the birth of a task. Inline, a call is admitted and claimed in one commit.
    None: frozenset({_S.QUEUED, _S.WAITING, _S.CONFIRMING, _S.RUNNING, _S.QUARANTINE}),
    _S.QUEUED: frozenset(
        {_S.RUNNING, _S.WAITING, _S.CANCELLED, _S.SKIPPED, _S.DEAD, _S.QUARANTINE, _S.TIMEOUT}
    ),
    _S.WAITING: frozenset({_S.QUEUED, _S.RUNNING, _S.CANCELLED, _S.SKIPPED, _S.DEAD, _S.QUARANTINE}),
    _S.CONFIRMING: frozenset({_S.QUEUED, _S.CANCELLED, _S.QUARANTINE}),
    _S.RUNNING: frozenset(
        {
            _S.SUCCESS,
            _S.FAILED,
            _S.TIMEOUT,
            _S.RETRY_WAIT,
            _S.QUEUED,
            _S.WAITING,
            _S.QUARANTINE,
            _S.CANCELLED,
            _S.DEAD,
        }
    ),
    _S.RETRY_WAIT: frozenset(
        {_S.RUNNING, _S.CANCELLED, _S.DEAD, _S.TIMEOUT, _S.FAILED, _S.WAITING, _S.QUARANTINE}
    ),
    _S.SUCCESS: frozenset({_S.COMPENSATED}),
    # A resubmission of the same request is a new attempt; requeue is the operator's way. An approval is good for
    # one execution, so what a person had to approve goes by CONFIRMING again.
    _S.FAILED: frozenset({_S.RUNNING, _S.QUEUED, _S.CONFIRMING, _S.SUCCESS, _S.QUARANTINE}),
    _S.TIMEOUT: frozenset({_S.RUNNING, _S.QUEUED, _S.CONFIRMING, _S.SUCCESS, _S.QUARANTINE}),
    _S.QUARANTINE: frozenset({_S.QUEUED, _S.CONFIRMING, _S.SUCCESS, _S.FAILED, _S.CANCELLED}),
    _S.CANCELLED: frozenset({_S.QUEUED, _S.CONFIRMING, _S.SUCCESS}),
    _S.SKIPPED: frozenset({_S.QUEUED, _S.CONFIRMING}),
    _S.DEAD: frozenset({_S.QUEUED, _S.CONFIRMING, _S.SUCCESS, _S.FAILED, _S.CANCELLED}),
    _S.COMPENSATED: frozenset(),
}

WAY_OUT: dict[State, str] = {
    _S.QUEUED: "by itself: a caller that holds the request, ax.serve() or a worker claims it",
    _S.WAITING: "by itself: when what it waits for ends (a dependency, the session, a framework's pause)",
    _S.CONFIRMING: "operator: confirm or reject; by itself when the approval expires",
    _S.RUNNING: "by itself: its executor records the end, or the lease expires and it is classified",
    _S.RETRY_WAIT: "by itself: at its due time it is claimed again",
    _S.SUCCESS: "never, except rollback, which makes it COMPENSATED",
    _S.FAILED: "the same request resubmitted, or operator: requeue; resolve where it may have been applied",
    _S.TIMEOUT: "the same request resubmitted, or operator: requeue",
    _S.QUARANTINE: "operator: resolve, requeue or cancel; late evidence settles an outcome_unknown by itself",
    _S.CANCELLED: "operator: requeue",
    _S.SKIPPED: "operator: requeue",
    _S.DEAD: "operator: requeue, resolve or cancel",
    _S.COMPENSATED: "never",
}


def may(source: str | None, target: str) -> bool:
    """Whether a task may move from ``source`` (None: not yet stored) to ``target``."""
    return target in TRANSITIONS[source]
