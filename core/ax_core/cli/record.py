"""What the doctor finds in the record: its schema, its clock, what runs, what waits, and whether it is whole."""

from __future__ import annotations

from collections.abc import Iterator

from ..clock import SECOND, Micros
from ..model import TaskRow
from ..owners import certainly_gone
from ..store import Tx, audit, inspect, migrate, queries
from ..view import as_json
from .checks import FAIL, OK, WARN, Check, judged

SANE: Micros = 1_704_067_200 * SECOND
"""The year 2024: a clock that shows less was never set."""


def tables(tx: Tx) -> Iterator[Check]:
    """The schema, and how commits reach the file."""
    version = inspect.schema(tx)
    if version is None:
        yield Check(FAIL, "schema", "it holds no record of AX", "point --url or AX_URL at another file")
    elif version == migrate.HEAD:
        yield Check(OK, "schema", version)
    elif version in migrate.known():
        yield Check(
            WARN, "schema", f"{version}, this AX has {migrate.HEAD}", "the next use brings it up to date"
        )
    else:
        message = f"{version}, this AX knows {migrate.HEAD}"
        yield Check(FAIL, "schema", message, "a newer AX wrote it: upgrade this one")
    mode = inspect.journal_mode(tx)
    yield judged(
        mode == "wal", "journal", mode, "the next use turns it to WAL; until then readers block writers"
    )


def clock(tx: Tx, now: Micros) -> Iterator[Check]:
    """Whether time makes sense: leases, deadlines and approvals hang on it."""
    newest = inspect.newest_at(tx)
    ahead = 0.0 if newest is None else (newest - now) / SECOND
    if now < SANE:
        yield Check(
            FAIL, "clock", "this machine's clock was never set", "set it: leases and approvals hang on it"
        )
    elif ahead > 2:
        message = f"the newest task was created {ahead:.0f} s in the future"
        yield Check(
            FAIL if ahead > 60 else WARN, "clock", message, "a clock was set back: use NTP on every machine"
        )
    else:
        yield Check(OK, "clock", "no task comes from the future")


def attempts(tx: Tx, now: Micros) -> Iterator[Check]:
    """What runs, and whether somebody still holds it."""
    running, half = queries.running(tx), queries.half_open(tx)
    gone = [row for row in running if row.owner is not None and certainly_gone(row.owner)]
    late = [
        row for row in running if row not in gone and row.lease_until is not None and row.lease_until <= now
    ]
    held = len(running) - len(gone) - len(late)
    yield Check(OK, "running", f"{len(running)} attempts, {held} of them held by somebody")
    if gone:
        message = f"{len(gone)} attempts of processes that are gone ({_names(gone)})"
        yield Check(WARN, "left behind", message, "axd inbox classifies them; those in doubt wait there")
    if late:
        message = f"{len(late)} attempts were not renewed ({_names(late)})"
        yield Check(
            WARN,
            "leases",
            message,
            "their process hangs or is stopped: look at it; axd inbox classifies them",
        )
    if half:
        message = f"{len(half)} attempts were given up and not seen to end ({_names(half)})"
        yield Check(
            WARN, "given up", message, "they may still act; their end, or that of their process, settles them"
        )


def people(tx: Tx) -> Iterator[Check]:
    """What waits for a person."""
    waiting = inspect.waiting(tx)
    unknown = waiting.get("outcome_unknown", 0) + waiting.get("maybe_applied", 0)
    found = [
        ("unknown effects", unknown, "may or may not have happened", "axd inbox, then axd resolve"),
        ("approvals", waiting.get("CONFIRMING", 0), "wait", "axd inbox, then axd confirm or axd reject"),
        ("changed", waiting.get("policy_changed", 0), "wait", "axd inbox, then axd requeue or axd cancel"),
        (
            "dead letters",
            waiting.get("DEAD", 0),
            "wait",
            "axd inbox, then axd requeue, axd resolve or axd cancel",
        ),
    ]
    for name, count, verb, advice in found:
        if count:
            yield Check(WARN, name, f"{count} {verb}", advice)
    if not any(count for _, count, _, _ in found):
        yield Check(OK, "inbox", "nothing waits for a person")


def declared(tx: Tx) -> Iterator[Check]:
    """Whether the tools say what they do, and which are paused."""
    known = inspect.every_tool(tx)
    silent = sorted({tool.name for tool in known if as_json(tool.policy, {}).get("effect") == "undeclared"})
    paused = sorted({f"{tool.name} (by {tool.paused_by})" for tool in known if tool.paused})
    message = f"{len(known)} known"
    if silent:
        message += (
            f", {len(silent)} declare no effect: {', '.join(silent[:8])}{', …' if len(silent) > 8 else ''}"
        )
    advice = "they are taken for UNSAFE: declare effect=, and more can go on by itself after a crash"
    yield judged(not silent, "tools", message, advice)
    if paused:
        yield Check(WARN, "paused", ", ".join(paused), "axd resume NAME lets it start again")


def pages(tx: Tx) -> Iterator[Check]:
    """Every page of the file."""
    damage = inspect.damage(tx)
    message = damage or "every page is sound"
    yield judged(
        damage is None, "pages", message, "restore a backup, or run sqlite3's .recover on a copy", FAIL
    )


def trails(tx: Tx) -> Iterator[Check]:
    """Every audit trail."""
    count, broken = 0, []
    for id, head in inspect.every_task(tx):
        count += 1
        if audit.broken_at(audit.of_task(tx, id), head) is not None:
            broken.append(id)
    message = (
        f"{len(broken)} of {count} trails are broken ({', '.join(broken[:3])})"
        if broken
        else f"{count} trails, all whole"
    )
    yield judged(
        not broken, "audit", message, "somebody changed the file by hand: axd audit shows where", FAIL
    )


def _names(rows: list[TaskRow]) -> str:
    some = [f"{row.tool} {row.id}" for row in rows[:3]]
    return ", ".join(some) + (", …" if len(rows) > 3 else "")
