"""The queue's word on who has a session: it spares a second chain the write, and decides nothing."""

from __future__ import annotations

import asyncio
import contextvars
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from ax_core import AX, SessionBusy
from ax_core.dispatch.hints import SLOW, Hints
from ax_core.store import locks
from ax_core.threads import Threads
from support.aside import Aside, outcome
from support.fresh import fresh, watch
from support.ledger import until
from support.probe import Probe
from support.servers.process import free_port
from support.servers.redis import Redis
from support.skew import Skew

KEY = "agent_lock:default:s"


@pytest.fixture
def redis(redis_server: Redis) -> Iterator[Any]:
    """A client of a server that holds nothing."""
    with redis_server.client() as client:
        client.flushall()
        yield client


@pytest.fixture
def clock() -> Skew:
    return Skew()


@pytest.fixture
def ax(redis: Any, redis_server: Redis, clock: Skew, tmp_path: Path) -> Iterator[AX]:
    with fresh(clock, tmp_path / "ax.db", queue=redis_server.url) as made:
        yield made


@contextmanager
def nobody_writes(ax: AX) -> Iterator[None]:
    """Another process holds the database's write lock."""
    with closing(sqlite3.connect(ax._core.db.where, isolation_level=None)) as raw:
        raw.execute("BEGIN IMMEDIATE")
        yield


def elsewhere(fn: Callable[[], Any]) -> Any:
    """What a call on another thread, outside every run, gives."""
    return outcome(Aside(fn).result)


def enter(ax: AX, **how: Any) -> str:
    with ax.run(session="s", **how) as run:
        return run.id


def settle(ax: AX, redis: Any) -> None:
    """Until the queue was told of all that happened so far: it is told in order."""
    other = ax.run(session="t")
    elsewhere(other.open)
    other.close()
    assert until(lambda: not redis.exists(KEY.replace(":s", ":t")))


async def aenter(ax: AX) -> Any:
    """The same on an event loop, outside every run."""

    async def chain() -> str:
        async with ax.run(session="s") as run:
            return run.id

    try:
        return await asyncio.create_task(chain(), context=contextvars.Context())
    except SessionBusy as busy:
        return busy


# -- refused by a look ---------------------------------------------------------------------------------------


def test_a_second_chain_is_refused_though_nobody_can_write(ax: AX) -> None:
    """It only looks, and is told by the database which run is there."""
    with ax.run(session="s") as run, nobody_writes(ax):
        busy = elsewhere(lambda: enter(ax))
        assert isinstance(busy, SessionBusy)
        assert busy.run_id == run.id


async def test_on_a_loop_too(ax: AX) -> None:
    async with ax.run(session="s") as run:
        with nobody_writes(ax):
            busy = await aenter(ax)
        assert isinstance(busy, SessionBusy)
        assert busy.run_id == run.id
    assert isinstance(await aenter(ax), str)


def test_who_waits_for_a_session_writes_nothing_meanwhile(clock: Skew) -> None:
    """Without a queue as well: it asked once, and from then on it looks."""
    with fresh(clock) as ax:
        writes: list[str] = []
        looked = threading.Semaphore(0)
        db = ax._core.db

        def wait() -> str:
            written, read = db.write, db.read
            me = threading.get_ident()

            def write(op: Any, name: str = "control", durable: bool = False) -> Any:
                if threading.get_ident() == me:
                    writes.append(name)
                return written(op, name, durable)

            def look(op: Any) -> Any:
                looked.release()
                return read(op)

            db.write, db.read = write, look  # type: ignore[method-assign,assignment]
            return enter(ax, on_busy="wait")

        with ax.run(session="s"):
            waiting = Aside(wait)
            for _ in range(3):
                assert looked.acquire(timeout=10)
            assert writes == ["control"]
        assert isinstance(waiting.result(), str)
        assert writes == ["control"] * 3  # entered, and left


# -- nothing but a hint --------------------------------------------------------------------------------------


def test_the_word_of_a_holder_that_is_gone_refuses_nobody(ax: AX, redis: Any) -> None:
    """A key that outlived its chain, or that is another deployment's: the database says that the session is free."""
    redis.set(KEY, "somebody/else")
    with ax.run(session="s"):
        assert isinstance(elsewhere(lambda: enter(ax)), SessionBusy)
    assert redis.get(KEY) == "somebody/else"  # taken back by its own token only


def test_a_session_whose_holder_died_is_free_once_its_lease_is_over(ax: AX, redis: Any, clock: Skew) -> None:
    """Even while the queue still names the dead."""
    ax.run(session="s").open()
    assert isinstance(elsewhere(lambda: enter(ax)), SessionBusy)
    clock.ahead(31)
    assert redis.get(KEY)
    assert isinstance(elsewhere(lambda: enter(ax)), str)


def test_a_queue_that_forgot_everything_lets_nobody_in(ax: AX, redis: Any) -> None:
    """The lock of record refuses, and with the next heartbeat the queue knows again."""
    with ax.run(session="s") as run:
        redis.flushall()
        busy = elsewhere(lambda: enter(ax))
        assert isinstance(busy, SessionBusy)
        assert busy.run_id == run.id
        assert until(lambda: redis.get(KEY) is None)  # who was refused takes its own word back
        watch(ax).beat([])
        assert until(lambda: (redis.get(KEY) or "").endswith(run.id))


def test_without_the_queue_everything_is_as_with_it(clock: Skew, tmp_path: Path) -> None:
    with fresh(clock, tmp_path / "ax.db", queue=f"redis://127.0.0.1:{free_port()}/0") as ax:
        with ax.run(session="s") as run:
            busy = elsewhere(lambda: enter(ax))
            assert isinstance(busy, SessionBusy)
            assert busy.run_id == run.id
        assert isinstance(enter(ax), str)


# -- kept and let go -----------------------------------------------------------------------------------------


def test_the_queue_is_told_by_token_who_has_a_session_and_when_it_is_free(ax: AX, redis: Any) -> None:
    with ax.run(session="s") as run:
        row = ax._core.db.read(lambda tx: locks.get(tx, "default", "s"))
        assert row is not None
        assert redis.get(KEY) == row.token
        assert row.token.endswith(run.id)
        assert 0 < redis.pttl(KEY) <= 30_000
    assert until(lambda: not redis.exists(KEY))


def test_it_is_kept_as_long_as_the_lease(ax: AX, redis: Any) -> None:
    with ax.run(session="s"):
        redis.pexpire(KEY, 5_000)
        watch(ax).beat([])
        assert until(lambda: redis.pttl(KEY) > 5_000)


def test_a_pause_lets_go_of_it(ax: AX, redis: Any) -> None:
    block = ax.run(session="s")
    block.open()
    assert redis.exists(KEY)
    block.pause()
    assert until(lambda: not redis.exists(KEY))
    assert isinstance(enter(ax), str)


def test_who_was_superseded_takes_nothing_from_its_successor(ax: AX, redis: Any) -> None:
    first, second = ax.run(session="s"), ax.run(session="s", on_busy="supersede")
    first.open()
    redis.delete(KEY)
    elsewhere(second.open)
    first.close()
    settle(ax, redis)
    assert redis.get(KEY).endswith(second.id)


def test_nested_calls_and_runs_of_the_same_chain_pass(ax: AX, redis: Any) -> None:
    """And do not let go of what the run around them holds."""
    Probe().tool(ax)
    with ax.run(session="s") as run:
        with ax.run(session="s"), ax.run():
            assert ax.call("pay") == "done"
        settle(ax, redis)
        with nobody_writes(ax):
            assert isinstance(elsewhere(lambda: enter(ax)), SessionBusy)
        assert redis.get(KEY).endswith(run.id)


def test_a_refreshed_request_with_the_same_key_enters_its_run(ax: AX) -> None:
    """The queue names its former process; another request is refused all the same."""
    with ax.run(session="s", key="turn") as first:
        assert isinstance(elsewhere(lambda: enter(ax, key="another")), SessionBusy)
        assert elsewhere(lambda: enter(ax, key="turn")) == first.id


# -- a queue that hangs --------------------------------------------------------------------------------------


class Hanging:
    """A queue that answers after ``takes`` seconds."""

    def __init__(self, clock: Skew) -> None:
        self._clock, self.takes, self.held = clock, 0.0, "another"

    def hold(self, ns: str, session_id: str, token: str, seconds: float) -> str | None:
        self._clock.ahead(self.takes)
        return self.held


def test_a_queue_that_hangs_is_waited_for_once(clock: Skew) -> None:
    """From then on it is asked behind the callers' backs, until it is quick again."""
    queue = Hanging(clock)
    hints = Hints(queue, Threads(), clock, 30.0)  # type: ignore[arg-type]
    assert hints.has_another("ns", "s", "mine")
    queue.takes = 2 * SLOW
    hints.has_another("ns", "s", "mine")
    before = clock.monotonic()
    asked_aside = hints.has_another("ns", "s", "mine")
    assert not asked_aside
    assert until(lambda: clock.monotonic() - before > SLOW)  # but it was asked
    queue.takes = 0.0
    assert until(lambda: hints.has_another("ns", "s", "mine"))
