"""The transaction of a TRANSACTIONAL body among everybody else's commits: each waits for the other, nobody for ever."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import create_engine, text
from sqlalchemy.pool import QueuePool

from ax_core import AX, StoreError, ToolFailed, current
from ax_core.store import dialects
from support.aside import Aside
from support.fresh import fresh
from support.ledger import until


@pytest.fixture
def ax(tmp_path: Path) -> Iterator[AX]:
    with fresh(path=tmp_path / "ax.db") as ax:
        register(ax)
        yield ax


def register(ax: AX) -> None:
    def book(n: int) -> int:
        current().connection.execute(text("INSERT INTO business VALUES (:n)"), {"n": n})
        if n % 5 == 4:
            raise ValueError("no")
        return n

    ax._core.wiring("default").db.write(lambda tx: tx.run("CREATE TABLE IF NOT EXISTS business (n INTEGER)"))
    ax.register(book, name="book", policy={"effect": "transactional"})
    ax.register(book, name="book_limited", policy={"effect": "transactional", "timeout": 60})
    ax.register(lambda n: n, name="act", schema={"properties": {"n": {}}}, policy={"effect": "unsafe"})


def booked(ax: AX) -> list[int]:
    return sorted(row[0] for row in ax._core.db.read(lambda tx: tx.all("SELECT n FROM business")))


def test_transactions_and_shared_commits_take_turns(ax: AX) -> None:
    """Threads and coroutines, some of which fail: every success is there once, no failure has left anything."""
    numbers = range(40)

    def call(n: int) -> bool:
        try:
            return ax.call(("book", "book_limited")[n % 2], {"n": n}) == n
        except ToolFailed:
            return False

    async def acall(n: int) -> bool:
        try:
            return await ax.acall("book", {"n": n}) == n
        except ToolFailed:
            return False

    async def loop() -> list[Any]:
        booking = [acall(n) for n in numbers[20:]]
        return await asyncio.gather(*booking, *[ax.acall("act", {"n": n}) for n in range(20)])

    going = [Aside(lambda n=n: call(n)) for n in numbers[:20]]
    looping = Aside(lambda: asyncio.run(loop()))
    acting = [Aside(lambda n=n: ax.call("act", {"n": n})) for n in range(20)]
    answers = [each.result(60) for each in going] + looping.result(60)[:20]
    assert [each.result(60) for each in acting] == list(range(20))
    assert answers == [n % 5 != 4 for n in numbers]
    assert booked(ax) == [n for n in numbers if n % 5 != 4]


def test_others_wait_while_it_is_open_and_read_what_was_before(ax: AX) -> None:
    inside, go = threading.Event(), threading.Event()

    def slow() -> None:
        current().connection.execute(text("INSERT INTO business VALUES (1)"))
        inside.set()
        assert go.wait(20)

    ax.register(slow, name="slow", policy={"effect": "transactional"})
    booking = Aside(lambda: ax.call("slow"))
    assert inside.wait(20)
    waiting = Aside(lambda: ax.call("act", {"n": 1}))
    line = ax._core.db.commits._line
    assert until(lambda: len(line.items) == 2)
    assert booked(ax) == []
    assert not waiting.ended
    go.set()
    booking.result()
    assert waiting.result() == 1
    assert booked(ax) == [1]


@pytest.mark.parametrize("tool", ["book", "book_limited"])
def test_a_transaction_that_cannot_begin_is_a_store_error_and_may_be_called_again(
    ax: AX, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tool: str
) -> None:
    """Nothing was entered: whoever asks again gets a first attempt, and others write on."""
    monkeypatch.setattr(dialects, "BUSY_SECONDS", 0.1)
    holding = sqlite3.connect(tmp_path / "ax.db", isolation_level=None, check_same_thread=False)
    db = ax._core.db
    begin = db.transaction

    def late() -> Any:
        holding.execute("BEGIN IMMEDIATE")
        try:
            return begin()
        finally:
            holding.execute("ROLLBACK")

    monkeypatch.setattr(db, "transaction", late)
    with pytest.raises(StoreError, match="stayed locked"):
        ax.call(tool, {"n": 1}, request_id="r")
    monkeypatch.setattr(db, "transaction", begin)
    task = ax.find_request("r")
    assert task is not None
    assert (task.state, task.reason) == ("QUEUED", "interrupted")
    assert ax.call("act", {"n": 1}) == 1
    assert ax.call(tool, {"n": 1}, request_id="r") == 1
    assert booked(ax) == [1]
    holding.close()


def test_one_that_cannot_begin_leaves_the_users_pool_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = create_engine(
        f"sqlite:///{tmp_path}/ax.db", poolclass=QueuePool, pool_size=1, max_overflow=0, pool_timeout=5
    )
    monkeypatch.setattr(dialects, "BUSY_SECONDS", 0.1)
    with AX(engine=engine) as ax:
        register(ax)
        holding = sqlite3.connect(tmp_path / "ax.db", isolation_level=None)
        for _ in range(3):
            holding.execute("BEGIN IMMEDIATE")
            with pytest.raises(StoreError, match="stayed locked"):
                ax._core.db.transaction()
            holding.execute("ROLLBACK")
            assert engine.pool.checkedout() == 0  # type: ignore[attr-defined]
            with engine.connect() as connection:
                raw: Any = connection.connection.driver_connection
                assert raw.isolation_level == ""
                assert not raw.in_transaction
            assert ax.call("book", {"n": 1}) == 1
        holding.close()
    engine.dispose()
