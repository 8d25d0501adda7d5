"""Very many at once: a backlog of old tasks, and a crowd that is sent away together."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from ax_core import AX, Effect, Policy
from ax_core.clock import Micros, uuid7
from ax_core.model import AuditRow, TaskRow
from ax_core.store import Tx, audit, tasks
from support.fresh import fresh
from support.limited import EIGHT, most_at_once, most_within, waits
from support.outside import World
from support.shops import Shop
from support.skew import Skew

BACKLOG = int(os.environ.get("AX_CHAOS_BACKLOG") or 200_000)
CROWD = int(os.environ.get("AX_CHAOS_CROWD") or 500)
HOUR = 3600
AT_ONCE = 5_000


def finished(ax: AX, row: TaskRow, trail: list[AuditRow], many: int, at: Micros) -> None:
    """Put copies of a task that is done into the record, as if they had come and ended at that moment."""
    moments = {"created_at": at, "started_at": at, "ended_at": at, "lease_until": at, "due_at": None}

    def op(first: int, tx: Tx) -> None:
        tx.serialise()
        for n in range(first, min(first + AT_ONCE, many), 500):
            ids = [uuid7(at // 1000, k >> 12, k & 0xFFF) for k in range(n, min(n + 500, many))]
            copies = [row._replace(id=i, run_id=i, idempotency_key=i, **moments)[:] for i in ids]
            entries = [entry._replace(task_id=i)[:] for i in ids for entry in trail]
            tx.cursor.executemany(tx.dialect.insert("ax_task", len(copies[0])), copies)  # type: ignore[attr-defined]
            tx.cursor.executemany(tx.dialect.insert("ax_audit", len(entries[0])), entries)  # type: ignore[attr-defined]

    for first in range(0, many, AT_ONCE):
        ax._core.db.write(lambda tx, first=first: op(first, tx))


def whole(ax: AX) -> int:
    """How many tasks still have what a purge takes."""
    return int(ax._core.db.read(lambda tx: tx.one("SELECT COUNT(*) FROM ax_task WHERE payload <> 'null'"))[0])


@pytest.mark.chaos
@pytest.mark.timeout(3600)
def test_a_purge_reaches_a_backlog_of_two_hundred_thousand_while_five_thousand_an_hour_come(url: str) -> None:
    """A day of purges, every six hours: each leaves nothing that is older than it says, and says how much it was."""
    clock = Skew()
    with fresh(clock, url=url) as ax:
        ax.register(lambda n: n, name="look", policy=Policy(Effect.READ))
        ax.call("look", {"n": 1})
        task_id = ax.tasks().tasks[0].id
        row, trail = ax._core.db.read(lambda tx: (tasks.get(tx, task_id), audit.of_task(tx, task_id)))
        assert row is not None
        finished(ax, row, trail, BACKLOG, clock.now() - 30 * 24 * HOUR * 1_000_000)
        each, kept = 6 * BACKLOG // 40, 1
        for round in range(4):
            finished(ax, row, trail, each, clock.now() - 1_000_000)
            kept += each
            purged = ax.purge(3 * HOUR)
            assert purged.slimmed == (BACKLOG if round == 0 else each + (round == 1))
            kept -= purged.slimmed if round else 0
            assert whole(ax) == kept
            clock.ahead(6 * HOUR)
        done = ax.purge(3 * HOUR, forget_after=3 * HOUR)
        assert (done.slimmed, done.forgotten) == (each, 1 + BACKLOG + 4 * each)
        assert ax._core.db.read(lambda tx: tx.one("SELECT COUNT(*) FROM ax_audit"))[0] == 0
        assert ax._core.db.read(lambda tx: tx.one("SELECT COUNT(*) FROM ax_task"))[0] == 0


@pytest.fixture
def shop_on(tmp_path: Path, url: str, redis_url: str, world: World) -> Iterator[Shop]:
    """A shop on each database in turn."""
    world.begin_anew(tmp_path)
    with ExitStack() as ending:
        yield Shop(tmp_path, url, redis_url, world, ending)


@pytest.mark.chaos
@pytest.mark.timeout(600)
def test_five_hundred_that_are_told_to_come_back_in_ten_seconds_come_back_later_and_spread(
    shop_on: Any,
) -> None:
    """None before, a tenth in half a second where all would have come at once, and never more than the tool allows."""
    for _ in range(2):
        shop_on.worker(concurrency=16)
    subjects = [f"s{n}" for n in range(CROWD)]
    handles = [shop_on.ax.submit("sent_away", {"subject": each, "retry_after": 10.0}) for each in subjects]
    for handle in handles:
        shop_on.ax.wait_for_result(handle, timeout=120)
    seen = shop_on.world.seen()
    waited = waits(seen)
    print(
        f"{min(waited.values()):.2f} to {max(waited.values()):.2f} s, {most_within(0.5, waited.values())} in 0.5 s"
    )
    assert set(waited) == set(subjects)
    assert min(waited.values()) >= 10.0
    assert most_within(0.5, waited.values()) < CROWD / 4
    assert most_at_once(seen) == EIGHT
