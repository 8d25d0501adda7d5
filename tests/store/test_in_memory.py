"""A store in memory is one database for all connections of its process, and gone with its AX."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from sqlalchemy import text

from ax_core import AX, Closed, UnknownTask, current
from support.aside import together
from support.fresh import fresh


def test_readers_and_writers_have_connections_of_their_own_to_one_database() -> None:
    with fresh() as ax:
        ax.register(lambda n: n, name="echo", schema={"properties": {"n": {}}})

        async def call(n: int) -> int:
            return await ax.acall("echo", {"n": n})

        def look() -> bool:
            counts = [len(ax.tasks(limit=1000).tasks) for _ in range(10)]
            return counts == sorted(counts)

        calls = [lambda n=n: ax.call("echo", {"n": n}) for n in range(10)]
        calls += [lambda n=n: asyncio.run(call(n)) for n in range(10, 20)]
        assert together(calls + [look] * 4) == [*range(20), *[True] * 4]
        assert len(ax.tasks().tasks) == 20


def test_a_transactional_tool_shares_it_too() -> None:
    with fresh() as ax:
        ax._core.db.write(lambda tx: tx.run("CREATE TABLE business (n INTEGER)"))

        def book(n: int) -> int:
            current().connection.execute(text("INSERT INTO business VALUES (:n)"), {"n": n})
            return n

        ax.register(book, name="book", policy={"effect": "transactional"})
        assert [ax.call("book", {"n": n}) for n in (1, 2)] == [1, 2]
        assert ax._core.db.read(lambda tx: tx.all("SELECT n FROM business")) == [(1,), (2,)]


def test_two_of_them_share_nothing() -> None:
    with fresh() as one, fresh() as two:
        for ax in (one, two):
            ax.register(lambda: 1, name="tick")
        handle = one.submit("tick")
        assert one.wait_for_result(handle, timeout=20) == 1
        with pytest.raises(UnknownTask):
            two.get(handle)
        assert len(two.tasks().tasks) == 0


def test_it_leaves_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for url in ("sqlite://", "sqlite:///:memory:"):
        with AX(url) as ax:
            ax.register(lambda: 1, name="tick")
            assert ax.call("tick") == 1
    assert list(tmp_path.iterdir()) == []


def test_it_is_gone_once_it_is_closed() -> None:
    with fresh() as ax:
        ax.register(lambda: 1, name="tick")
        ax.call("tick")
    with pytest.raises(Closed):
        ax.tasks()
