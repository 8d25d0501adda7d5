"""TRANSACTIONAL tools on a server: the tool's writes and AX's record are one commit, or neither is there."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest
from sqlalchemy import text
from sqlalchemy.orm import Session

from ax_core import AX, AXError, State, StillRunning, TaskTimeout, ToolFailed, current
from support.aside import Aside, together
from support.ledger import until
from support.servers.home import Home

INSERT = text("INSERT INTO business VALUES (:n)")


@pytest.fixture
def ax(home: Home) -> Iterator[AX]:
    home.ask("CREATE TABLE business (n INTEGER)")
    with AX(home.url) as made:
        yield made


def register(ax: AX, body: Any, **policy: Any) -> None:
    def book(n: int) -> Any:
        current().connection.execute(INSERT, {"n": n})
        return body(n)

    ax.register(book, name="book", policy={"effect": "transactional", **policy})


def booked(home: Home) -> list[int]:
    return sorted(row[0] for row in home.ask("SELECT n FROM business"))


def test_both_are_there_or_neither(ax: AX, home: Home) -> None:
    def body(n: int) -> int:
        if n % 2:
            raise ValueError("no")
        return n

    register(ax, body)
    assert ax.call("book", {"n": 2}) == 2
    with pytest.raises(ToolFailed):
        ax.call("book", {"n": 3})
    assert booked(home) == [2]


def test_while_it_runs_others_read_and_write_and_see_nothing_of_it(ax: AX, home: Home) -> None:
    inside, go = threading.Event(), threading.Event()
    register(ax, lambda n: inside.set() or go.wait(20))
    ax.register(lambda: "done", name="other", policy={"effect": "unsafe"})
    calling = Aside(lambda: ax.call("book", {"n": 1}))
    assert inside.wait(20)
    assert ax.call("other") == "done"
    assert booked(home) == []
    go.set()
    assert calling.result()
    assert booked(home) == [1]


def test_many_at_once_each_count_once(ax: AX, home: Home) -> None:
    register(ax, lambda n: n)
    assert together([lambda n=n: ax.call("book", {"n": n}) for n in range(24)]) == list(range(24))
    assert booked(home) == list(range(24))


def test_one_whose_task_was_taken_over_meanwhile_is_undone(ax: AX, home: Home) -> None:
    """The guarded UPDATE is the last statement: another fence, and nothing of the body is true."""

    def body(n: int) -> int:
        home.ask("UPDATE ax_task SET fence = fence + 1")
        return n

    with AX(home.url, wait=1) as impatient:
        register(impatient, body)
        with pytest.raises(StillRunning):
            impatient.call("book", {"n": 1}, request_id="r")
    assert booked(home) == []


def test_a_cancel_while_it_runs_does_not_stop_what_succeeds(ax: AX, home: Home) -> None:
    def body(n: int) -> int:
        assert ax.cancel(str(current().task_id), by="ops").done
        return n

    register(ax, body)
    assert ax.call("book", {"n": 1}) == 1
    assert booked(home) == [1]


def test_one_that_runs_out_of_time_is_undone_and_lets_go_of_its_locks(ax: AX, home: Home) -> None:
    go = threading.Event()
    entered: list[int] = []

    def book(n: int) -> int:
        current().connection.execute(text("UPDATE business SET n = n + 1"))
        entered.append(n)
        if len(entered) == 1:
            go.wait(20)
        return n

    home.ask("INSERT INTO business VALUES (10)")
    ax.register(book, policy={"effect": "transactional", "timeout": 1.0})
    with pytest.raises(TaskTimeout):
        ax.call("book", {"n": 1}, request_id="r")
    # Its row lock goes with its connection, though its body still stands there.
    assert ax.call("book", {"n": 2}, timeout=20) == 2
    go.set()
    assert until(lambda: not len(ax._core.live))
    assert booked(home) == [11]
    task = ax.find_request("r")
    assert task is not None
    assert task.state == State.TIMEOUT


def test_an_orm_session_joins_it(ax: AX, home: Home) -> None:
    def book(n: int) -> int:
        with Session(bind=current().connection) as session:
            session.execute(INSERT, {"n": n})
            session.commit()
        if n == 2:
            raise ValueError("after all not")
        return n

    ax.register(book, policy={"effect": "transactional"})
    assert ax.call("book", {"n": 1}) == 1
    with pytest.raises(ToolFailed):
        ax.call("book", {"n": 2})
    assert booked(home) == [1]


@pytest.mark.parametrize("statement", ["COMMIT", "ROLLBACK", "CREATE TABLE sly (n INTEGER)"])
def test_a_statement_that_ends_it_is_found_out(ax: AX, home: Home, statement: str) -> None:
    """Also where the database commits by itself, as MySQL does with every change of a table."""

    def body(n: int) -> int:
        current().connection.execute(text(statement))
        return n

    register(ax, body)
    if statement.startswith("CREATE") and home.url.startswith("postgresql"):
        assert ax.call("book", {"n": 1}) == 1
        return
    with pytest.raises(AXError, match="ended the transaction"):
        ax.call("book", {"n": 1})


def test_an_error_that_the_tool_swallowed_spoils_it(ax: AX, home: Home) -> None:
    def body(n: int) -> int:
        try:
            current().connection.execute(text("INSERT INTO nowhere VALUES (1)"))
        except Exception:
            pass
        return n

    register(ax, body)
    if home.url.startswith("mysql"):  # there a failed statement undoes only itself
        assert ax.call("book", {"n": 1}) == 1
        assert booked(home) == [1]
    else:
        with pytest.raises(AXError):
            ax.call("book", {"n": 1})
        assert booked(home) == []


async def test_from_a_loop(ax: AX, home: Home) -> None:
    register(ax, lambda n: n)
    assert await ax.acall("book", {"n": 1}) == 1
    assert booked(home) == [1]


def test_the_users_own_engine_is_used(home: Home) -> None:
    from sqlalchemy import create_engine, event

    engine = create_engine(home.url, pool_size=1, max_overflow=2)
    opened: list[object] = []
    event.listen(engine, "connect", lambda raw, record: opened.append(raw))
    home.ask("CREATE TABLE business (n INTEGER)")
    with AX(engine=engine) as ax:
        register(ax, lambda n: n)
        assert ax.call("book", {"n": 1}) == 1
        assert engine.pool.checkedout() == 0  # type: ignore[attr-defined]
        assert len(opened) >= 2
        with engine.connect() as connection:
            assert connection.execute(text("SELECT n FROM business")).all() == [(1,)]
    engine.dispose()
