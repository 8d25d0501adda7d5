"""Time is the database's: a machine whose clock is wrong takes nothing away from others, and loses nothing."""

from __future__ import annotations

import threading
import time
from datetime import UTC, datetime, timedelta

import pytest

from ax_core import AX, State
from ax_core.clock import Micros, SystemClock
from ax_core.scheduler import anything_lost, sweep
from ax_core.store.servers.clock import DatabaseClock
from support.aside import Aside
from support.servers.home import Home

ANY = {"properties": {"n": {}}}


class Wrong(SystemClock):
    """A machine's clock that is so many seconds off, and may be set while it runs."""

    def __init__(self, seconds: float) -> None:
        super().__init__()
        self.off = seconds

    def now(self) -> Micros:
        return super().now() + int(self.off * 1e6)

    def new_id(self) -> str:
        made = super().new_id().replace("-", "")
        text = f"{int(made[:12], 16) + int(self.off * 1000):012x}{made[12:]}"
        return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


@pytest.mark.parametrize("seconds", [600, -600])
def test_a_machine_that_is_ten_minutes_off_judges_and_is_judged_rightly(home: Home, seconds: float) -> None:
    inside, go = threading.Event(), threading.Event()

    def act(n: int) -> int:
        inside.set()
        assert go.wait(20)
        return n

    with AX(home.url, clock=Wrong(seconds)) as wrong, AX(home.url) as right:
        for ax in (wrong, right):
            ax.register(act, policy={"effect": "unsafe"})
        for runs, looks in ((wrong, right), (right, wrong)):
            inside.clear()
            go.clear()
            calling = Aside(lambda runs=runs: runs.call("act", {"n": 1}))
            assert inside.wait(20)
            core = looks._core
            looks.tasks()
            assert not core.db.read(anything_lost(core.clock.now()))
            assert core.db.write(sweep(core.clock, core.owner, core.tell)) == 0
            go.set()
            assert calling.result() == 1
        first, second = sorted(right.tasks().tasks, key=lambda task: task.created_at)
        assert first.id < second.id  # ids sort by the same time
        for task in (first, second):
            assert abs(task.created_at - datetime.now(UTC)) < timedelta(seconds=30)
            assert task.state == State.SUCCESS


def test_a_clock_that_is_set_while_the_process_runs_changes_nothing(home: Home) -> None:
    clock = Wrong(0)
    with AX(home.url, clock=clock) as ax:
        ax.tasks()
        before = ax._core.clock.now()
        clock.off = 3600
        assert 0 <= ax._core.clock.now() - before < 10_000_000
        clock.off = -3600
        assert 0 <= ax._core.clock.now() - before < 10_000_000


def test_every_heartbeat_looks_at_the_servers_clock(home: Home) -> None:
    with AX(home.url) as ax:
        ax.tasks()
        clock = ax._core.clock
        assert isinstance(clock, DatabaseClock)
        now = clock.monotonic()
        clock.measured(clock.now() + 5_000_000, now, now)
        watch = ax._core._watch
        assert watch is not None
        watch.beat([])
        assert abs(clock.now() - time.time_ns() // 1000) < 2_000_000


def test_a_measurement_that_took_long_is_used_only_where_there_is_none() -> None:
    own = SystemClock()
    clock = DatabaseClock(own)
    assert abs(clock.now() - own.now()) < 1_000_000
    clock.measured(5_000_000, own.monotonic() - 3, own.monotonic())
    assert clock.now() < 20_000_000
    clock.measured(900_000_000, own.monotonic() - 3, own.monotonic())
    assert clock.now() < 20_000_000
    clock.measured(900_000_000, own.monotonic(), own.monotonic())
    assert clock.now() >= 900_000_000
