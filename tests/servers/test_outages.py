"""The database refuses the end of a call, for a moment or for long: the end is not lost, and nothing is run again."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from ax_core import AX, OutcomeUnknown, State, StoreError, faults
from support.aside import Aside
from support.fresh import beat, fresh, tick, watch
from support.servers.home import Home
from support.skew import Skew

ANY: dict[str, Any] = {"properties": {"n": {}}}
LEASE = 30.0


@pytest.fixture(autouse=True)
def no_faults() -> Iterator[None]:
    yield
    faults.disarm()


@pytest.fixture
def clock() -> Skew:
    return Skew()


@pytest.fixture
def acted() -> list[int]:
    return []


@pytest.fixture
def ax(home: Home, clock: Skew) -> Iterator[AX]:
    with fresh(clock, url=home.url) as made:
        yield made


def serialisation(home: Home) -> Exception:
    """What the server says of one that it made give way to another."""
    if "postgresql" in home.url:
        import psycopg

        return psycopg.errors.SerializationFailure("could not serialize access")
    import pymysql

    return pymysql.OperationalError(1213, "Deadlock found when trying to get lock")


@pytest.mark.parametrize("times", [1, 3])
@pytest.mark.parametrize("how", ["refused", "cut"])
def test_an_end_that_is_refused_a_few_times_is_written_all_the_same(
    home: Home, acted: list[int], times: int, how: str
) -> None:
    """A serialisation failure, a deadlock, a connection that is reset: its caller does not notice."""
    failed: list[int] = []

    def fail() -> None:
        failed.append(1)
        if len(failed) < times:
            faults.arm("record.before_commit", fail)
        if how == "cut":
            home.cut()
        else:
            raise serialisation(home)

    with AX(home.url) as ax:
        ax.register(lambda n: acted.append(n) or n, name="act", schema=ANY, policy={"effect": "unsafe"})
        ax.tasks()
        faults.arm("record.before_commit", fail)
        assert ax.call("act", {"n": 1}, request_id="r") == 1
        (task,) = ax.tasks().tasks
        assert (task.state, task.attempts, acted, len(failed)) == (State.SUCCESS, 1, [1], times)
        assert ax.verify(task.id) is None


class Away:
    """The database as a process sees it that cannot record an end: soon given up, until it is back."""

    def __init__(self, ax: AX, home: Home) -> None:
        self._home = home
        ax._core.db.commits._seconds = 0.2  # type: ignore[attr-defined]

    def go(self) -> None:
        faults.arm("record.before_commit", self._refuse)

    def come_back(self) -> None:
        faults.disarm()

    def _refuse(self) -> None:
        self.go()
        self._home.cut()


def register(ax: AX, act: Callable[[], Any], form: str = "here", effect: str = "unsafe") -> None:
    async def soon() -> Any:
        await asyncio.sleep(0)
        return act()

    timeout = None if form == "here" else 20
    ax.register(soon if form == "soon" else act, name="act", policy={"effect": effect, "timeout": timeout})


def call(ax: AX, form: str = "here") -> Any:
    if form == "soon":
        return asyncio.run(ax.acall("act", request_id="r"))
    return ax.call("act", request_id="r")


def left_behind(ax: AX, home: Home, acted: list[int], form: str = "here") -> tuple[Away, str]:
    """A call that acted and could not be recorded; its task."""
    away = Away(ax, home)

    def act() -> str:
        acted.append(1)
        away.go()
        return "paid"

    register(ax, act, form)
    ax.tasks()
    with pytest.raises(StoreError, match="ran, but how it ended could not be recorded") as told:
        call(ax, form)
    assert "keeps the end" in str(told.value)
    assert "Do not repeat it" in told.value.for_model
    assert told.value.task_id is not None
    return away, told.value.task_id


@pytest.mark.parametrize("form", ["here", "limited", "soon"])
def test_an_end_that_could_not_be_recorded_is_kept_and_recorded_once_the_database_is_back(
    ax: AX, home: Home, acted: list[int], form: str
) -> None:
    """Its caller was told that it ran; who asks again is told the result, and nothing is run again."""
    away, task_id = left_behind(ax, home, acted, form)
    tick(ax)
    assert ax.get(task_id).state is State.RUNNING
    away.come_back()
    tick(ax)
    assert ax.get(task_id).state is State.SUCCESS
    assert call(ax, form) == "paid"
    assert acted == [1]
    assert ax.verify(task_id) is None
    assert not ax._core.live.unrecorded


def test_what_others_took_for_lost_meanwhile_is_in_doubt_until_then(
    ax: AX, home: Home, clock: Skew, acted: list[int]
) -> None:
    """An outage longer than the lease: nobody runs it again, and the end that was kept settles the doubt."""
    with fresh(clock, url=home.url) as other:
        register(other, lambda: acted.append(2))
        away, task_id = left_behind(ax, home, acted)
        clock.ahead(LEASE + 1)
        beat(other)
        task = other.get(task_id)
        assert (task.state, task.reason) == (State.QUARANTINE, "outcome_unknown")
        with pytest.raises(OutcomeUnknown):
            call(other)
        away.come_back()
        tick(ax)
        assert other.get(task_id).state is State.SUCCESS
        assert call(other) == "paid"
    assert acted == [1]


def test_the_process_that_has_the_end_does_not_take_its_own_task_for_lost(
    ax: AX, home: Home, clock: Skew, acted: list[int]
) -> None:
    away, task_id = left_behind(ax, home, acted)
    clock.ahead(LEASE + 1)
    with watch(ax)._recording:  # another thread is at it, and waits for the database
        beat(ax)
    assert ax.get(task_id).state is State.RUNNING
    away.come_back()
    watch(ax).tick(everything=True)
    assert [entry.verb for entry in ax.audit(task_id)] == ["claim", "returned"]


def test_closing_waits_for_the_ends_that_are_kept(home: Home, clock: Skew, acted: list[int]) -> None:
    """For as long as it waits for what runs."""
    with fresh(clock, url=home.url, watched=True) as ax:
        away, task_id = left_behind(ax, home, acted)
        closing = Aside(lambda: ax.close(drain=20))
        away.come_back()
        closing.result()
    with fresh(clock, url=home.url) as other:
        assert other.get(task_id).state is State.SUCCESS


def test_ends_that_are_lost_when_it_is_closed_are_told_of(
    home: Home, clock: Skew, acted: list[int], caplog: pytest.LogCaptureFixture
) -> None:
    """Never silently: what becomes of them stands in the log."""
    with fresh(clock, url=home.url) as ax:
        left_behind(ax, home, acted)
        ax.close(drain=0)
    assert "1 ends could not be recorded before this AX was closed" in caplog.text
