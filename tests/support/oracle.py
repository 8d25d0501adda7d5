"""The judge: from what the world saw, what the record says and what callers were told, to what is wrong.

A pure function: it starts nothing, asks nothing and knows no product code beyond the names of states.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from ax_core.model import Attempt
from support.record import Kept

Row = dict[str, Any]
REPEATABLE = ("read", "idempotent", "keyed", "transactional")
ACTS = ("unsafe", "keyed", "idempotent", "read")
RESTING = ("SUCCESS", "QUARANTINE", "FAILED", "TIMEOUT", "CANCELLED", "DEAD")


def violations(
    seen: Sequence[Row],
    record: Mapping[str, Kept],
    rows: Mapping[str, int],
    told: Iterable[Row],
    *,
    ordered: Iterable[str] = (),
    allowed: Iterable[str] = RESTING,
    lease: float = 30.0,
) -> list[str]:
    """Everything that breaks a promise, in words; nothing: all were kept.

    Args:
        seen: the books of the world.
        rows: business rows by subject.
        told: what callers heard; the subject of a request is its id.
        ordered: requests that a person ordered to be run again.
        allowed: the states in which a task may be left.
        lease: after how many seconds in silence an attempt of a living process may be taken over.
    """
    found: list[str] = []
    acts = [entry for entry in seen if entry["kind"] in ACTS]
    ordered = frozenset(ordered)
    for request, kept in record.items():
        mine = [entry for entry in acts if entry["subject"] == request]
        for judge in (_effects, _doubt, _claimed_before_it_acted, _attempts, _trail):
            found += [
                f"{request}: {what}" for what in judge(kept, mine, rows.get(request, 0), request in ordered)
            ]
        if kept.stood not in allowed:
            found.append(f"{request}: it was left {kept.stood}")
    for entry in acts:
        if entry["subject"] not in record:
            found.append(f"{entry['subject']}: the world saw an effect that is not on record")
    found += _told(record, told, ordered)
    found += _overlaps(seen, record, lease)
    return found


def happened(kept: Kept, acts: Sequence[Row], rows: int) -> int:
    """How many effects the world knows of, as its own kind counts them."""
    if kept.task.effect == "transactional":
        return rows
    if kept.task.effect == "keyed":
        return sum(entry["new"] for entry in acts)
    return len(acts)


def _effects(kept: Kept, acts: Sequence[Row], rows: int, ordered: bool) -> Iterator[str]:
    task, count = kept.task, happened(kept, acts, rows)
    if task.state == "SUCCESS" and not count and task.reason != "resolved":
        yield f"{task.effect}: SUCCESS is on record, and the world saw nothing"
    if task.effect == "keyed" and len({entry["key"] for entry in acts}) > 1:
        yield "keyed: the world was given different keys"
    most = 1 + ordered
    if task.effect not in ("read", "idempotent") and count > most:
        yield f"{task.effect}: {count} effects, {most} would have been right"
    if task.effect == "transactional" and rows and task.state != "SUCCESS":
        yield f"transactional: a row is there, and the record says {task.state}"
    known = task.state in ("SUCCESS", "DEAD") or task.maybe_applied or task.reason == "outcome_unknown"
    if task.effect in ("unsafe", "undeclared") and count and not known and not ordered:
        yield f"{task.effect}: it happened, and the record says {task.state} ({task.reason}) without a doubt"


def _doubt(kept: Kept, acts: Sequence[Row], rows: int, ordered: bool) -> Iterator[str]:
    """In doubt exactly where a lost attempt could have acted: never what may be repeated, and by the mark."""
    task = kept.task
    lost = [attempt for attempt in kept.attempts if attempt.outcome == "lost"]
    if task.reason == "outcome_unknown" and task.effect in REPEATABLE:
        yield f"{task.effect}: in doubt, though a repeat is harmless"
    if task.effect in REPEATABLE or ordered:
        return
    marks = "marked" in task.tool
    doubtful = [a for a in lost if a.acted_at is not None or not marks]
    if (
        task.reason == "outcome_unknown"
        and kept.attempts[-1] not in doubtful
        and kept.attempts[-1].outcome == "lost"
    ):
        yield "in doubt, though it never reached its mark"
    for attempt in doubtful:
        if _came_back_innocent(attempt) and all(entry["attempt"] != attempt.number for entry in acts):
            continue
        if attempt.number != kept.attempts[-1].number:
            yield f"attempt {attempt.number} was lost in doubt, and another followed"
        elif task.state == "SUCCESS" and attempt.late_outcome != "returned" and task.reason != "resolved":
            yield f"attempt {attempt.number} was lost in doubt, and SUCCESS is on record without a reason"


def _came_back_innocent(attempt: Attempt) -> bool:
    """Whether it came back to say that it had never entered the body, or that the tool had refused."""
    refused = attempt.late_outcome == "raised" and "NotApplied" in str(attempt.late_result)
    return attempt.late_outcome == "lost" or refused


def _claimed_before_it_acted(kept: Kept, acts: Sequence[Row], rows: int, ordered: bool) -> Iterator[str]:
    numbers = {(attempt.number, attempt.fence) for attempt in kept.attempts}
    for entry in acts:
        if entry["task"] != kept.task.id:
            yield f"the world saw task {entry['task']}, the record knows {kept.task.id}"
        elif (entry["attempt"], entry["fence"]) not in numbers:
            yield f"the world saw attempt {entry['attempt']}, which is not on record"
    for number, count in Counter(entry["attempt"] for entry in acts).items():
        if count > 1:
            yield f"attempt {number} acted {count} times"


def _attempts(kept: Kept, acts: Sequence[Row], rows: int, ordered: bool) -> Iterator[str]:
    """One after another on record too, each with a larger fence."""
    attempts = kept.attempts
    for one, two in zip(attempts, attempts[1:], strict=False):
        if two.fence <= one.fence:
            yield f"attempt {two.number} has fence {two.fence} after {one.fence}"
        if one.ended_at is None or not one.closed:
            yield f"attempt {two.number} began, and attempt {one.number} was not closed"
        elif two.started_at is None or two.started_at < one.ended_at:
            yield f"attempt {two.number} began before attempt {one.number} had ended"


def _trail(kept: Kept, acts: Sequence[Row], rows: int, ordered: bool) -> Iterator[str]:
    if kept.broken_at is not None:
        yield f"its audit trail breaks at entry {kept.broken_at}"


def _told(record: Mapping[str, Kept], told: Iterable[Row], ordered: frozenset[str]) -> Iterator[str]:
    values: dict[str, Any] = {}
    for line in told:
        request, said = line.get("request"), line.get("said")
        if request is None or said is None:
            continue
        kept = record.get(request)
        if kept is None:
            if said in ("value", "failed", "outcome_unknown"):
                yield f"{request}: somebody was told {said}, and nothing is on record"
            continue
        task = kept.task
        if said == "value":
            if task.state != "SUCCESS":
                yield f"{request}: somebody was told a value, and the record says {task.state} ({task.reason})"
            elif task.result != line["value"]:
                yield f"{request}: somebody was told {line['value']}, and the record says {task.result}"
            if values.setdefault(request, line["value"]) != line["value"]:
                yield f"{request}: one was told {values[request]}, another {line['value']}"
        elif said == "outcome_unknown" and task.reason != "outcome_unknown" and not _settled(kept, ordered):
            yield f"{request}: somebody was told of a doubt, and the record says {task.state} ({task.reason})"


def _settled(kept: Kept, ordered: frozenset[str]) -> bool:
    return (
        kept.task.reason == "resolved"
        or kept.task.request_id in ordered
        or any(attempt.late_outcome for attempt in kept.attempts)
    )


def _overlaps(seen: Sequence[Row], record: Mapping[str, Kept], lease: float) -> Iterator[str]:
    """A body is entered beside another of the same task: only where that one's lease had run out."""
    for entry in seen:
        kept = record.get(entry.get("subject", ""))
        if kept is None or entry["kind"] != "begin":
            continue
        for other in entry["beside"]:
            lost = [a for a in kept.attempts if a.number == other and a.outcome == "lost"]
            if not lost or _seconds(lost[0]) < lease:
                late = f"{kept.task.request_id}: attempt {entry['attempt']}"
                yield f"{late} entered the body while attempt {other} was in it"


def _seconds(attempt: Attempt) -> float:
    if attempt.started_at is None or attempt.ended_at is None:
        return 0.0
    return (attempt.ended_at - attempt.started_at).total_seconds()
