"""Reads stand on one snapshot, wait for no writer, and hold nobody up."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from ax_core import StoreError
from ax_core.store.dialects import Dialect
from ax_core.store.reads import HELPERS, Reads
from ax_core.store.tx import Tx
from ax_core.threads import Threads
from support.aside import Aside
from support.ledger import Ledger, until


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger(tmp_path / "ledger.db")


@pytest.fixture
def reads(ledger: Ledger) -> Iterator[Reads]:
    made = Reads(ledger._connect, Dialect(), ledger.threads, str(ledger.path))
    yield made
    made.close()


def entries(tx: Tx) -> list[int]:
    return [row[0] for row in tx.all("SELECT n FROM entry ORDER BY n")]


def test_a_read_sees_one_moment_however_long_it_looks(ledger: Ledger, reads: Reads) -> None:
    ledger.put(1)

    def op(tx: Tx) -> tuple[list[int], list[int]]:
        first = entries(tx)
        ledger.put(2)
        return first, entries(tx)

    assert reads.run(op) == ([1], [1])
    assert reads.run(entries) == [1, 2]


def test_a_read_does_not_wait_for_a_writer(ledger: Ledger, reads: Reads) -> None:
    ledger.put(1)
    with ledger.held_up(2):
        assert Aside(lambda: reads.run(entries)).result(5) == [1]


def test_a_writer_does_not_wait_for_a_read(ledger: Ledger, reads: Reads) -> None:
    ledger.put(1)
    reading, go = threading.Event(), threading.Event()

    def op(tx: Tx) -> list[int]:
        entries(tx)
        reading.set()
        assert go.wait(20)
        return entries(tx)

    slow = Aside(lambda: reads.run(op))
    assert reading.wait(20)
    assert Aside(lambda: ledger.put(2)).result(5) == 4
    go.set()
    assert slow.result() == [1]


def test_a_read_that_raises_gives_its_connection_back(reads: Reads) -> None:
    for _ in range(3):
        with pytest.raises(LookupError):
            reads.run(lambda tx: [][tx.one("SELECT 1")[0]])
    assert len(reads._idle) == 1
    assert not reads._idle[0].in_transaction


def test_a_connection_that_the_database_refused_is_not_used_again(ledger: Ledger, reads: Reads) -> None:
    with pytest.raises(StoreError, match="no such table"):
        reads.run(lambda tx: tx.all("SELECT * FROM nowhere"))
    assert len(reads._idle) == 0
    ledger.put(3)
    assert reads.run(entries) == [3]


def test_a_store_that_cannot_be_opened_is_a_store_error() -> None:
    def away() -> sqlite3.Connection:
        raise sqlite3.OperationalError("unable to open database file")

    with pytest.raises(StoreError, match="cannot be opened"):
        Reads(away, Dialect(), Threads(), "/nowhere").run(entries)


def test_text_that_is_none_hides_no_other_row(ledger: Ledger, reads: Reads) -> None:
    ledger.commits.run(lambda tx: tx.run("CREATE TABLE word (w TEXT)"), "control")
    ledger.commits.run(
        lambda tx: tx.run("INSERT INTO word VALUES ('good'), (CAST(x'62ff64' AS TEXT))"), "control"
    )
    words = reads.run(lambda tx: [row[0] for row in tx.all("SELECT w FROM word")])
    assert words == ["good", "b\N{REPLACEMENT CHARACTER}d"]
    assert reads._idle[0].text_factory is str


async def test_many_coroutines_read_on_a_few_threads(ledger: Ledger, reads: Reads) -> None:
    """Five hundred at once are five hundred answers, and neither threads nor connections by the hundred."""
    ledger.put(7)
    threads: set[int] = set()

    def op(tx: Tx) -> list[int]:
        threads.add(threading.get_ident())
        return entries(tx)

    assert await asyncio.gather(*[reads.arun(op) for _ in range(500)]) == [[7]] * 500
    assert threading.get_ident() not in threads
    assert len(threads) <= HELPERS
    assert await asyncio.to_thread(until, lambda: len(reads._errands._room) == HELPERS)
    assert len(reads._idle) <= HELPERS


async def test_a_coroutine_that_left_does_not_keep_the_others_from_reading(
    ledger: Ledger, reads: Reads
) -> None:
    gates = [threading.Event() for _ in range(HELPERS)]
    slow = [asyncio.ensure_future(reads.arun(lambda tx, gate=gate: gate.wait(20))) for gate in gates]
    late = asyncio.ensure_future(reads.arun(entries))
    await asyncio.sleep(0)
    slow[0].cancel()
    await asyncio.wait({slow[0]})
    assert not late.done()
    gates[0].set()
    assert await late == []
    for gate in gates:
        gate.set()
    assert await asyncio.gather(*slow[1:]) == [True] * (HELPERS - 1)


def test_a_read_that_outlives_the_close_leaves_no_connection_open(ledger: Ledger, reads: Reads) -> None:
    reading, go = threading.Event(), threading.Event()

    def op(tx: Tx) -> list[int]:
        reading.set()
        assert go.wait(20)
        return entries(tx)

    slow = Aside(lambda: reads.run(op))
    assert reading.wait(20)
    reads.close()
    go.set()
    assert slow.result() == []
    assert len(reads._idle) == 0
