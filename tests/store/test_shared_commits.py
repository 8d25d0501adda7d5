"""Concurrent callers share a commit, and each gets its own answer, after COMMIT and never before."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from pathlib import Path
from typing import Any

import pytest

from ax_core import StoreError
from ax_core.store.tx import Tx
from support.aside import Aside
from support.ledger import Ledger, putting, refusing, until


def nonsense(tx: Tx) -> None:
    tx.run("INSERT INTO nowhere VALUES (1)")


def test_a_caller_that_is_alone_commits_on_its_own_thread(ledger: Ledger) -> None:
    where: list[int] = []
    ledger.commits.run(lambda tx: where.append(threading.get_ident()), "control")
    assert where == [threading.get_ident()]
    assert ledger.free


def test_those_who_wait_share_one_commit_and_each_gets_its_own_result(ledger: Ledger) -> None:
    with ledger.held_up():
        waiting = [Aside(lambda n=n: ledger.put(n)) for n in range(1, 21)]
        ledger.stands(21)
    assert [call.result() for call in waiting] == [n * n for n in range(1, 21)]
    assert ledger.entries() == list(range(21))
    assert ledger.raws[0].commits == 2


def test_whoever_has_more_to_do_leaves_its_operation_to_the_one_who_leads_and_is_told(ledger: Ledger) -> None:
    """The result or the error, after COMMIT; where nobody leads it commits by itself, and knows when it goes on."""
    told: list[Any] = []

    def leave(op: Any) -> None:
        ledger.commits.later(op, "control", False, lambda *said: told.append((*said, ledger.entries())))

    with ledger.held_up():
        for op in (putting(1), refusing, putting(2)):
            leave(op)
        assert told == []
    assert until(lambda: len(told) == 3)
    assert [said[0] for said in told] == [1, None, 4]
    assert [type(said[1]) for said in told] == [type(None), ValueError, type(None)]
    assert all(said[2] == [0, 1, 2] for said in told)
    assert until(lambda: ledger.free)
    leave(putting(3))
    assert told[3] == (9, None, [0, 1, 2, 3])


def test_a_failing_operation_leaves_nothing_and_takes_nobody_down(ledger: Ledger) -> None:
    with ledger.held_up():
        before = Aside(lambda: ledger.put(1))
        ledger.stands(2)
        bad = Aside(lambda: ledger.commits.run(refusing, "control"))
        ledger.stands(3)
        worse = Aside(lambda: ledger.commits.run(nonsense, "control"))
        ledger.stands(4)
        after = Aside(lambda: ledger.put(2))
        ledger.stands(5)
    assert (before.result(), after.result()) == (1, 4)
    with pytest.raises(ValueError, match="no"):
        bad.result()
    with pytest.raises(StoreError, match="no such table"):
        worse.result()
    assert ledger.entries() == [0, 1, 2]
    assert ledger.raws[0].commits == 2


def test_an_operation_that_ends_the_whole_transaction_takes_nobody_down(ledger: Ledger) -> None:
    """SQLite rolls back everything on some errors; the others then run again, each for itself."""

    def ending(tx: Tx) -> None:
        tx.run("INSERT OR ROLLBACK INTO entry VALUES (NULL)")

    with ledger.held_up():
        before = Aside(lambda: ledger.put(1))
        ledger.stands(2)
        bad = Aside(lambda: ledger.commits.run(ending, "control"))
        ledger.stands(3)
        after = Aside(lambda: ledger.put(2))
        ledger.stands(4)
    assert (before.result(), after.result()) == (1, 4)
    with pytest.raises(StoreError, match="NOT NULL"):
        bad.result()
    assert ledger.entries() == [0, 1, 2]


def test_nobody_is_answered_before_the_commit(ledger: Ledger) -> None:
    """Where the answer is given, another connection already sees what it speaks of."""
    seen: dict[int, bool] = {}

    def told(n: int) -> Any:
        def op(tx: Tx) -> None:
            putting(n)(tx)
            tx.then(lambda: seen.setdefault(n, n in ledger.entries()))

        return op

    def caller(n: int) -> bool:
        ledger.commits.run(told(n), "control")
        return n in ledger.entries()

    with ledger.held_up():
        waiting = [Aside(lambda n=n: caller(n)) for n in range(1, 9)]
        ledger.stands(9)
    assert all(call.result() for call in waiting)
    assert seen == dict.fromkeys(range(1, 9), True)


def test_what_should_follow_a_commit_does_not_follow_a_rollback(ledger: Ledger) -> None:
    told: list[str] = []

    def op(tx: Tx) -> None:
        tx.then(lambda: told.append("committed"))
        refusing(tx)

    with pytest.raises(ValueError):
        ledger.commits.run(op, "control")
    assert told == []


def test_a_failure_in_what_follows_a_commit_leaves_nobody_waiting(ledger: Ledger) -> None:
    def op(tx: Tx) -> int:
        tx.then(lambda: 1 // 0)
        return putting(1)(tx)

    with ledger.held_up():
        first = Aside(lambda: ledger.commits.run(op, "control"))
        ledger.stands(2)
        others = [Aside(lambda n=n: ledger.put(n)) for n in (2, 3)]
        ledger.stands(4)
    assert (first.result(), [call.result() for call in others]) == (1, [4, 9])
    assert ledger.free


@pytest.mark.parametrize("ended", [False, True], ids=["open", "rolled back by the database"])
def test_a_commit_that_fails_is_tried_again_one_by_one(ledger: Ledger, ended: bool) -> None:
    """Whose fault it was is found out by letting each commit for itself: one is refused, the others pass."""
    ledger.put(0)
    raw = ledger.raws[0]

    def full(sql: str) -> Exception | None:
        if sql == "COMMIT" and 13 in [row[0] for row in raw._raw.execute("SELECT n FROM entry")]:
            if ended:
                raw._raw.execute("ROLLBACK")
            return sqlite3.OperationalError("database or disk is full")
        return None

    with ledger.held_up(10):
        raw.refuse = full
        waiting = {n: Aside(lambda n=n: ledger.put(n)) for n in (11, 12, 13, 14)}
        ledger.stands(5)
    assert [waiting[n].result() for n in (11, 12, 14)] == [121, 144, 196]
    with pytest.raises(StoreError, match="no disk space"):
        waiting[13].result()
    assert ledger.entries() == [0, 10, 11, 12, 14]


def test_an_operation_runs_again_from_the_start_when_its_commit_failed(ledger: Ledger) -> None:
    """And only what the last run of it said counts."""
    ledger.put(0)
    raw, runs = ledger.raws[0], []
    failures = iter([sqlite3.OperationalError("disk I/O error")])
    raw.refuse = lambda sql: next(failures, None) if sql == "COMMIT" and runs else None

    def op(tx: Tx) -> int:
        runs.append(1)
        tx.then(lambda: runs.append(100))
        putting(len(runs))(tx)
        return len(runs)

    with ledger.held_up(10):
        first = Aside(lambda: ledger.commits.run(op, "control"))
        ledger.stands(2)
        second = Aside(lambda: ledger.put(7))
        ledger.stands(3)
    assert (first.result(), second.result()) == (2, 49)
    assert runs == [1, 1, 100]
    assert ledger.entries() == [0, 2, 7, 10]


def test_a_connection_that_cannot_even_roll_back_is_replaced(ledger: Ledger) -> None:
    ledger.put(0)
    broken = sqlite3.OperationalError("disk I/O error")
    ledger.raws[0].refuse = lambda sql: broken if sql in ("COMMIT", "ROLLBACK") else None
    with pytest.raises(StoreError, match="I/O error"):
        ledger.put(1)
    assert ledger.put(2) == 4
    assert ledger.entries() == [0, 2]
    assert len(ledger.raws) == 2


def test_a_store_that_cannot_be_opened_answers_everybody_and_recovers(ledger: Ledger) -> None:
    ledger.put(0)
    away = sqlite3.OperationalError("unable to open database file")
    with ledger.held_up(1):
        ledger.raws[0].refuse = lambda sql: away if sql.startswith("BEGIN") else None
        waiting = [Aside(lambda n=n: ledger.put(n)) for n in (2, 3, 4)]
        ledger.stands(4)
    for call in waiting:
        with pytest.raises(StoreError, match="cannot be opened"):
            call.result()
    assert ledger.put(5) == 25
    assert ledger.entries() == [0, 1, 5]


def test_one_durable_operation_makes_the_shared_commit_durable(ledger: Ledger) -> None:
    def level() -> int:
        return ledger.raws[0]._raw.execute("PRAGMA synchronous").fetchone()[0]

    ledger.put(1)
    assert level() == 1
    ledger.commits.run(putting(2), "control", durable=True)
    assert level() == 2
    ledger.put(3)
    assert level() == 1
    levels: list[int] = []
    with ledger.held_up():
        waiting = [Aside(lambda: ledger.put(4))]
        ledger.stands(2)
        waiting.append(Aside(lambda: ledger.commits.run(lambda tx: levels.append(level()), "control", True)))
        ledger.stands(3)
    for call in waiting:
        call.result()
    assert levels == [2]


def test_who_has_the_lead_to_itself_keeps_everybody_waiting_until_it_is_released(ledger: Ledger) -> None:
    held = ledger.commits.exclusive()
    waiting = [Aside(lambda n=n: ledger.put(n)) for n in (1, 2)]
    ledger.stands(3)
    assert ledger.entries() == []
    held.release()
    assert [call.result() for call in waiting] == [1, 4]
    held.release()  # once too often
    assert ledger.put(3) == 9
    assert ledger.free


def test_the_lead_is_handed_over_in_the_order_of_coming(ledger: Ledger) -> None:
    """Operations, one who wants the lead to itself, and operations again: nobody overtakes."""
    order: list[str] = []

    def alone() -> None:
        held = ledger.commits.exclusive()
        order.append("alone")
        held.release()

    def noting(name: str) -> Any:
        return lambda: ledger.commits.run(lambda tx: order.append(name), "control")

    with ledger.held_up():
        waiting = []
        for count, call in enumerate((noting("a"), noting("b"), alone, noting("c"), alone, noting("d")), 2):
            waiting.append(Aside(call))
            ledger.stands(count)
    for each in waiting:
        each.result()
    assert order == ["a", "b", "alone", "c", "alone", "d"]
    assert ledger.free


class Gap(dict[int, Any]):
    """Who leads; something happens at the very moment at which the lead is let go."""

    def __init__(self, then: Any) -> None:
        super().__init__()
        self.then = then

    def __delitem__(self, key: int) -> None:
        then, self.then = self.then, lambda: None
        then()
        super().__delitem__(key)


@pytest.mark.parametrize("who", ["a thread", "a coroutine"])
def test_who_comes_between_the_last_look_and_the_letting_go_is_not_forgotten(
    ledger: Ledger, who: str
) -> None:
    """It finds the lead taken, and lies down to wait; whoever had the lead looks once more."""
    late: list[Aside] = []

    async def put() -> int:
        return await ledger.aput(2)

    def come() -> None:
        late.append(Aside((lambda: ledger.put(2)) if who == "a thread" else (lambda: asyncio.run(put()))))
        ledger.stands(1)

    ledger.commits._line._holder = Gap(come)
    assert ledger.put(1) == 1
    assert late[0].result() == 4
    assert until(lambda: ledger.free)


def test_a_lead_that_was_lost_on_the_way_to_its_owner_is_let_go(ledger: Ledger) -> None:
    ledger.commits.exclusive()
    assert Aside(lambda: ledger.put(1)).result() == 1


def test_without_a_further_thread_to_be_had_the_caller_does_the_work(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(job: Any) -> None:
        raise RuntimeError("can't start new thread")

    async def go() -> int:
        return await ledger.aput(2)

    monkeypatch.setattr(ledger.threads, "spawn", refuse)
    assert asyncio.run(go()) == 4
    assert ledger.entries() == [2]
    assert ledger.free


def test_closing_waits_for_what_is_in_line_and_leaves_no_log_behind(ledger: Ledger, tmp_path: Path) -> None:
    with ledger.held_up():
        waiting = Aside(lambda: ledger.put(1))
        ledger.stands(2)
        closing = Aside(ledger.commits.close)
        ledger.stands(3)
    closing.result()
    assert waiting.result() == 1
    assert [path.name for path in tmp_path.iterdir()] == ["ledger.db"]
    assert ledger.entries() == [0, 1]


def test_closing_does_not_wait_for_a_reader_elsewhere(ledger: Ledger, tmp_path: Path) -> None:
    ledger.put(1)
    reader = sqlite3.connect(tmp_path / "ledger.db", isolation_level=None)
    reader.execute("BEGIN")
    reader.execute("SELECT * FROM entry").fetchall()
    ledger.put(2)
    closing = Aside(ledger.commits.close)
    closing.result(5)
    assert reader.execute("SELECT n FROM entry").fetchall() == [(1,)]
    reader.close()
