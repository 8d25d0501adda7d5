"""What must hold after a storm, beyond what must hold always."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from ax_core.decide import POISON
from support.oracle import REPEATABLE, violations
from support.outside import Row
from support.record import Kept
from support.storm.clients import AT_ONCE
from support.storm.plan import Plan
from support.workshop import LEASE

PERIODS = 2
GRACE = 4.0
"""Seconds for what runs and waits after the lease is over: a look every two seconds, and a machine that is busy."""
OVERTAKING = 8 * AT_ONCE
"""Where more is asked than can be done: one fetch in eight begins with what is not urgent, behind all that is."""


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
    return found + list(_stuck(record, asked_last, calm_since))


def _missing(kept: Kept) -> Iterator[str]:
    """What may be repeated is repeated until it is done: no tool of a plan fails for good."""
    task = kept.task
    if task.effect in REPEATABLE and task.state != "SUCCESS":
        if task.state == "DEAD" and task.reason == "poison" and _lost(kept) >= POISON:
            return
        yield f"{task.effect}: it came to {task.state} ({task.reason}) after {[a.outcome for a in kept.attempts]}"


def _lost(kept: Kept) -> int:
    return sum(attempt.outcome in ("lost", "stopped") for attempt in kept.attempts)


def _stuck(record: Mapping[str, Kept], asked_last: Mapping[str, float], calm_since: float) -> Iterator[str]:
    """Nothing rests for longer than two leases once all is well, but behind others that were there before it."""
    ends = sorted(
        kept.task.ended_at.timestamp() for kept in record.values() if kept.task.ended_at is not None
    )
    for request, kept in record.items():
        since = max(calm_since, asked_last.get(request, 0.0)) + PERIODS * LEASE + GRACE
        ended = 0.0 if kept.task.ended_at is None else kept.task.ended_at.timestamp()
        between = [since, *(end for end in ends if since < end < ended), ended]
        idle = max(two - one for one, two in pairwise(between))
        if len(between) > 2 + OVERTAKING or idle > GRACE:
            tries = [
                (a.owner, a.outcome, a.started_at and a.started_at.timestamp() - since) for a in kept.attempts
            ]
            yield f"{request}: it came to rest {ended - since:.1f} s too late: {kept.verbs} {tries}"
