"""What must hold after a storm, beyond what must hold always."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ax_core.decide import POISON
from support.oracle import REPEATABLE, violations
from support.outside import Row
from support.record import Kept
from support.storm.plan import Plan
from support.workshop import LEASE

PERIODS = 2
GRACE = 4.0
"""Seconds for what runs and waits after the lease is over: a look every two seconds, and a machine that is busy."""


def judge(
    plan: Plan,
    seen: Sequence[Row],
    record: Mapping[str, Kept],
    rows: Mapping[str, int],
    told: Sequence[Row],
    asked_last: Mapping[str, float],
    calm_since: float,
) -> list[str]:
    """Everything that breaks a promise, in words.

    Args:
        asked_last: when each request was last sent; ``calm_since``: when all that was wrong was over. Both in seconds
            since the epoch.
    """
    found = violations(seen, record, rows, told, lease=LEASE)
    found += [f"{call.request}: it is not on record" for call in plan.calls if call.request not in record]
    for request, kept in record.items():
        found += [f"{request}: {what}" for what in _missing(kept)]
        found += [
            f"{request}: {what}" for what in _stuck(kept, max(calm_since, asked_last.get(request, 0.0)))
        ]
    return found


def _missing(kept: Kept) -> Iterator[str]:
    """What may be repeated is repeated until it is done: no tool of a plan fails for good."""
    task = kept.task
    if task.effect in REPEATABLE and task.state != "SUCCESS":
        if task.state == "DEAD" and task.reason == "poison" and _lost(kept) >= POISON:
            return
        yield f"{task.effect}: it came to {task.state} ({task.reason}) after {[a.outcome for a in kept.attempts]}"


def _lost(kept: Kept) -> int:
    return sum(attempt.outcome in ("lost", "stopped") for attempt in kept.attempts)


def _stuck(kept: Kept, since: float) -> Iterator[str]:
    ended = kept.task.ended_at
    late = 0.0 if ended is None else ended.timestamp() - since
    if late > PERIODS * LEASE + GRACE:
        tries = [
            (a.owner, a.outcome, a.started_at and round(a.started_at.timestamp() - since, 1))
            for a in kept.attempts
        ]
        yield f"it came to rest {late:.1f} s after all was well again: {kept.verbs} {tries}"
