"""Connections that break: what was not committed is done again, what was is known, and nothing is done twice."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from sqlalchemy import text

from ax_core import AX, Budget, State, StoreError, current, faults
from ax_core.states import RunState
from ax_core.store.servers import lone, server, writes
from ax_core.store.servers.mysql import MySQL
from ax_core.store.servers.postgres import Postgres
from support.aside import together
from support.servers.home import Home


@pytest.fixture(autouse=True)
def no_faults() -> Iterator[None]:
    yield
    faults.disarm()


@pytest.fixture
def acted() -> list[int]:
    return []


@pytest.fixture
def ax(home: Home, acted: list[int]) -> Iterator[AX]:
    with AX(home.url) as made:
        made.register(lambda n: acted.append(n) or n, name="act", schema=ANY, policy={"effect": "unsafe"})
        yield made


ANY = {"properties": {"n": {}}}


def lose_the_answer(
    monkeypatch: pytest.MonkeyPatch, home: Home, *, committed: bool, nth: int = 1
) -> list[str]:
    """The nth COMMIT, or statement that commits itself, is not answered: the connection is cut after it, or before."""
    seen: list[str] = []

    def cutting(real: Any) -> Any:
        def commit(*args: Any) -> Any:
            seen.append(real.__name__)
            if len(seen) != nth:
                return real(*args)
            if committed:
                real(*args)
            home.cut()
            return real(*args)

        return commit

    monkeypatch.setattr(writes.Writes, "commit", cutting(writes.Writes.commit))
    monkeypatch.setattr(lone.LoneTx, "execute", cutting(lone.LoneTx.execute))
    return seen


def test_connections_that_were_cut_while_they_lay_idle_are_not_noticed(
    ax: AX, home: Home, acted: list[int]
) -> None:
    assert ax.call("act", {"n": 1}) == 1
    assert home.cut() > 0
    assert ax.call("act", {"n": 2}) == 2
    home.cut()
    assert len(ax.tasks().tasks) == 2
    assert acted == [1, 2]


@pytest.mark.parametrize("point", ["admit.before_commit", "record.before_commit"])
def test_an_operation_that_was_cut_off_before_its_commit_is_done_again(
    ax: AX, home: Home, acted: list[int], point: str
) -> None:
    ax.tasks()
    faults.arm(point, home.cut)
    assert ax.call("act", {"n": 1}, request_id="r") == 1
    (task,) = ax.tasks().tasks
    assert (task.state, task.attempts, acted) == (State.SUCCESS, 1, [1])
    assert ax.verify(task.id) is None


@pytest.mark.parametrize("committed", [True, False], ids=["stored", "not stored"])
@pytest.mark.parametrize("nth", [1, 2], ids=["claim", "outcome"])
def test_a_commit_that_was_not_answered_is_looked_up(
    ax: AX, home: Home, acted: list[int], monkeypatch: pytest.MonkeyPatch, committed: bool, nth: int
) -> None:
    """Whether it was stored or not: the call goes on from what is true, its tool runs once, its trail is whole."""
    ax.tasks()
    ax.call("act", {"n": 0})
    acted.clear()
    seen = lose_the_answer(monkeypatch, home, committed=committed, nth=nth)
    assert ax.call("act", {"n": 1}, request_id="r") == 1
    task = ax.find_request("r")
    assert task is not None
    assert (task.state, task.attempts, acted) == (State.SUCCESS, 1, [1])
    assert [entry.verb for entry in ax.audit(task.id)] == ["claim", "returned"]
    assert ax.verify(task.id) is None
    assert len(seen) == (2 if committed else 3)  # what is stored is not stored again


@pytest.mark.parametrize("committed", [True, False], ids=["stored", "not stored"])
@pytest.mark.parametrize("nth", [1, 2], ids=["claim", "outcome"])
def test_a_claim_for_which_nothing_is_looked_up_is_known_as_well(
    ax: AX, home: Home, acted: list[int], monkeypatch: pytest.MonkeyPatch, committed: bool, nth: int
) -> None:
    """Where the database allows it, such a call is two statements without a transaction around them."""
    ax.register(lambda n: acted.append(n) or n, name="again", schema=ANY, policy={"effect": "idempotent"})
    ax.tasks()
    seen = lose_the_answer(monkeypatch, home, committed=committed, nth=nth)
    assert ax.call("again", {"n": 1}) == 1
    (task,) = ax.tasks().tasks
    assert (task.state, task.attempts, acted) == (State.SUCCESS, 1, [1])
    assert [entry.verb for entry in ax.audit(task.id)] == ["claim", "returned"]
    assert ax.verify(task.id) is None
    assert seen == ["execute" if home.url.startswith("postgresql") else "commit"] * (2 if committed else 3)


def test_a_request_that_another_took_while_its_claim_was_lost_is_the_others(
    ax: AX, home: Home, acted: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A task of the same request is there, and looks like the own claim to anybody who does not know its id."""
    ax.call("act", {"n": 0})
    acted.clear()
    real = writes.Writes.commit

    def commit(*args: Any) -> Any:
        monkeypatch.setattr(writes.Writes, "commit", real)
        home.cut()
        with AX(home.url) as other:
            other.register(
                lambda n: acted.append(n) or n, name="act", schema=ANY, policy={"effect": "unsafe"}
            )
            other.call("act", {"n": 1}, request_id="r")
        return real(*args)

    monkeypatch.setattr(writes.Writes, "commit", commit)
    assert ax.call("act", {"n": 1}, request_id="r") == 1
    assert acted == [1]


def test_a_claim_is_the_proof_of_its_own_commit(ax: AX, home: Home) -> None:
    """No row is written only so that the commit can be looked up."""
    ax.call("act", {"n": 0})
    before = home.ask("SELECT COUNT(*) FROM ax_commit")
    ax.call("act", {"n": 1}, request_id="r", key="order 7")
    assert home.ask("SELECT COUNT(*) FROM ax_commit") == before


def test_an_outcome_that_finds_its_task_moved_needs_a_transaction_after_all(
    ax: AX, acted: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A cancel came while the tool ran, and grew the trail: what it returned is recorded all the same, at once."""

    def act(n: int) -> int:
        acted.append(n)
        (task,) = ax.tasks().tasks
        ax.cancel(task.id, by="ops")
        return n

    ax.register(act, name="slow", schema=ANY, policy={"effect": "idempotent"})
    assert ax.call("slow", {"n": 1}) == 1
    (task,) = ax.tasks().tasks
    assert (task.state, acted) == (State.SUCCESS, [1])
    assert [entry.verb for entry in ax.audit(task.id)] == ["claim", "cancel_requested", "returned"]
    assert ax.verify(task.id) is None


@pytest.mark.parametrize("committed", [True, False], ids=["stored", "not stored"])
def test_one_that_leaves_no_trail_is_known_too(
    ax: AX, home: Home, monkeypatch: pytest.MonkeyPatch, committed: bool
) -> None:
    """An extended budget is in no task's trail: it is extended once."""
    with ax.run(budget=Budget(tasks=5)) as run:
        seen = lose_the_answer(monkeypatch, home, committed=committed)
        assert ax.extend(run.id, tasks=3, by="ops").done
        assert ax.tree(run.id).run.max_tasks == 8
        assert len(seen) == (1 if committed else 2)
    assert ax.tree(run.id).run.state is RunState.DONE


@pytest.mark.parametrize("committed", [True, False], ids=["stored", "not stored"])
def test_a_transaction_whose_commit_was_not_answered_is_true_or_undone_as_a_whole(
    ax: AX, home: Home, monkeypatch: pytest.MonkeyPatch, committed: bool
) -> None:
    home.ask("CREATE TABLE business (n INTEGER)")

    def book(n: int) -> int:
        current().connection.execute(text("INSERT INTO business VALUES (:n)"), {"n": n})
        return n

    ax.register(book, policy={"effect": "transactional", "retries": 1, "backoff": 0})
    ax.call("act", {"n": 0})
    lose_the_answer(monkeypatch, home, committed=committed, nth=2)
    assert ax.call("book", {"n": 1}, request_id="r") == 1
    assert home.ask("SELECT n FROM business") == [(1,)]
    task = ax.find_request("r")
    assert task is not None
    assert (task.state, task.attempts) == (State.SUCCESS, 1 if committed else 2)


def test_coroutines_do_not_notice_either(ax: AX, home: Home, acted: list[int]) -> None:
    async def calls() -> list[int]:
        going = [asyncio.ensure_future(ax.acall("act", {"n": n}, request_id=f"r{n}")) for n in range(40)]
        while len(acted) < 10:
            await asyncio.sleep(0.01)
        await asyncio.to_thread(home.cut)
        return await asyncio.gather(*going)

    assert asyncio.run(calls()) == list(range(40))
    assert sorted(acted) == list(range(40))


def test_threads_whose_connections_are_cut_again_and_again_lose_nothing(
    ax: AX, home: Home, acted: list[int]
) -> None:
    over = threading.Event()

    def cut() -> None:
        for _ in range(60):  # on a busy machine no call would ever be quick enough between two cuts
            if over.wait(0.05):
                break
            home.cut()

    cutting = threading.Thread(target=cut)
    cutting.start()
    try:
        said = together([lambda n=n: ax.call("act", {"n": n}, request_id=f"r{n}") for n in range(30)])
    finally:
        over.set()
        cutting.join()
    assert said == list(range(30))
    assert sorted(acted) == list(range(30))
    tasks = ax.tasks(limit=100).tasks
    assert {(task.state, task.attempts) for task in tasks} == {("SUCCESS", 1)}
    assert [ax.verify(task.id) for task in tasks] == [None] * 30


def test_where_the_database_stays_away_the_caller_is_told_in_time(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "SECONDS", 0.5)
    with AX(home.url) as ax:
        ax.register(lambda n: n, name="act", schema=ANY, policy={"effect": "unsafe"})
        ax.tasks()
        dialect = ax._core.db.dialect
        home.cut()
        monkeypatch.setattr(type(dialect), "connect", refuse)
        with pytest.raises(StoreError, match="does not answer: start the server"):
            ax.call("act", {"n": 1})
        with pytest.raises(StoreError, match="does not answer"):
            ax.tasks()


def test_a_commit_of_which_nobody_can_tell_says_so(
    ax: AX, home: Home, acted: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The claim may be stored; the tool was not entered, and whoever comes back finds what is true."""
    monkeypatch.setattr(server, "SECONDS", 0.5)
    with AX(home.url) as ax:
        ax.register(lambda n: acted.append(n) or n, name="act", schema=ANY, policy={"effect": "unsafe"})
        ax.tasks()
        with monkeypatch.context() as away:
            real = writes.Writes.commit

            def commit(self: Any, raw: Any, cursor: Any) -> None:
                real(self, raw, cursor)
                away.setattr(type(ax._core.db.dialect), "connect", refuse)
                home.cut()
                real(self, raw, cursor)

            away.setattr(writes.Writes, "commit", commit)
            with pytest.raises(StoreError, match="whether this was stored is not known"):
                ax.call("act", {"n": 1}, request_id="r")
        assert acted == []
        task = ax.find_request("r")
        assert task is not None
        assert task.state == State.RUNNING


def refuse(self: Any, args: Any, given: Any) -> Any:
    """Nobody listens there."""
    if isinstance(self, Postgres):
        import psycopg

        raise psycopg.OperationalError("connection failed: connection refused")
    import pymysql

    assert isinstance(self, MySQL)
    raise pymysql.OperationalError(2003, "Can't connect to MySQL server")


@pytest.mark.parametrize("home", ["postgresql"], indirect=True)  # only PostgreSQL keeps statements
@pytest.mark.parametrize("code", ["26000", "42P05"])
def test_behind_a_proxy_that_mixes_connections_nothing_is_kept_on_them(
    home: Home, acted: list[int], code: str
) -> None:
    """A pooler in transaction mode: a prepared statement is not there, or is there already. It is done without."""
    with AX(home.url) as ax:
        ax.register(lambda n: acted.append(n) or n, name="act", schema=ANY, policy={"effect": "unsafe"})
        assert [ax.call("act", {"n": n}, request_id=f"r{n}") for n in range(8)] == list(range(8))
        if code == "26000":
            for raw in ax._core.db.commits._pool._idle:  # type: ignore[attr-defined]
                raw.pgconn.exec_(b"DEALLOCATE ALL")  # behind the back of psycopg
        else:
            import psycopg

            def refuse() -> None:
                raise psycopg.errors.DuplicatePreparedStatement("prepared statement exists")

            faults.arm("admit.before_commit", refuse)
        assert [ax.call("act", {"n": n}, request_id=f"r{n}") for n in range(8, 16)] == list(range(8, 16))
        assert ax._core.db.dialect._prepares is False  # type: ignore[attr-defined]
    assert acted == list(range(16))
