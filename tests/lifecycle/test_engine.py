"""AX on the user's own SQLAlchemy engine: the same file, and a pool that is handed back as it was."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, create_engine, event, text
from sqlalchemy.orm import Session
from sqlalchemy.pool import NullPool, QueuePool, StaticPool

from ax_core import AX, PolicyError, ToolFailed, current


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    made = create_engine(
        f"sqlite:///{tmp_path / 'shared.db'}", poolclass=QueuePool, pool_size=2, max_overflow=0
    )
    with made.begin() as connection:
        connection.execute(text("CREATE TABLE business (n INTEGER)"))
    yield made
    made.dispose()


def register(ax: AX) -> None:
    def book(n: int) -> int:
        current().connection.execute(text("INSERT INTO business VALUES (:n)"), {"n": n})
        if n < 0:
            raise ValueError("no")
        return n

    def book_by_session(n: int) -> int:
        with Session(bind=current().connection) as session, session.begin():
            session.execute(text("INSERT INTO business VALUES (:n)"), {"n": n})
        return n

    ax.register(lambda n: n, name="echo", schema={"properties": {"n": {}}}, policy={"effect": "unsafe"})
    ax.register(book, name="book", policy={"effect": "transactional"})
    ax.register(book, name="book_limited", policy={"effect": "transactional", "timeout": 20})
    ax.register(book_by_session, name="book_by_session", policy={"effect": "transactional"})


def booked(engine: Engine) -> list[int]:
    with engine.connect() as connection:
        return [row[0] for row in connection.execute(text("SELECT n FROM business ORDER BY n"))]


def use(ax: AX, engine: Engine) -> None:
    register(ax)
    assert ax.call("echo", {"n": 1}) == 1
    for n, tool in enumerate(("book", "book_limited", "book_by_session")):
        assert ax.call(tool, {"n": n}) == n
    with pytest.raises(ToolFailed):
        ax.call("book", {"n": -1})
    assert booked(engine) == [0, 1, 2]


def test_the_record_and_the_business_share_a_file_and_a_commit(engine: Engine) -> None:
    with AX(engine=engine) as ax:
        use(ax, engine)
    with engine.connect() as connection:
        states = connection.execute(text("SELECT state, COUNT(*) FROM ax_task GROUP BY state")).fetchall()
    assert sorted(map(tuple, states)) == [("FAILED", 1), ("SUCCESS", 4)]


def test_the_pool_is_as_it_was(engine: Engine) -> None:
    """Nothing stays checked out, and no connection of the pool has a setting of ours, or a commit of its own."""

    def settings() -> list[Any]:
        with engine.connect() as connection:
            raw: Any = connection.connection.driver_connection
            names = (
                "synchronous",
                "wal_autocheckpoint",
                "busy_timeout",
                "temp_store",
                "cache_size",
                "foreign_keys",
            )
            return [raw.isolation_level, *[raw.execute(f"PRAGMA {name}").fetchone() for name in names]]

    before = settings()
    with AX(engine=engine) as ax:
        use(ax, engine)
        assert engine.pool.checkedout() == 0  # type: ignore[attr-defined]
        for _ in range(3):
            assert settings() == before
        with engine.connect() as one, engine.connect() as two:  # all of its two connections are to be had
            assert (one.scalar(text("SELECT 1")), two.scalar(text("SELECT 1"))) == (1, 1)
    assert booked(engine) == [0, 1, 2]  # closing AX does not close the engine
    assert settings() == before


@pytest.mark.parametrize("how", ["commit", "session", "nested"])
def test_a_session_joins_the_transaction_and_does_not_end_it(engine: Engine, how: str) -> None:
    """Its commit writes its changes, a savepoint is its own; and where the body then fails, nothing is left."""

    def book(n: int) -> None:
        with Session(bind=current().connection) as session:
            session.execute(text("INSERT INTO business VALUES (:n)"), {"n": n})
            session.commit()
        with current().connection.begin_nested() as inner:
            current().connection.execute(text("INSERT INTO business VALUES (100)"))
            inner.rollback()
        if n < 0:
            raise ValueError("no")

    with AX(engine=engine) as ax:
        ax.register(book, name="book", policy={"effect": "transactional"})
        ax.call("book", {"n": 7})
        with pytest.raises(ToolFailed):
            ax.call("book", {"n": -7})
    assert booked(engine) == [7]


def test_a_commit_by_the_tool_is_refused_and_nothing_is_left(engine: Engine) -> None:
    def book(n: int) -> None:
        current().connection.execute(text("INSERT INTO business VALUES (:n)"), {"n": n})
        current().connection.commit()

    with AX(engine=engine) as ax:
        ax.register(book, name="book", policy={"effect": "transactional"})
        with pytest.raises(ToolFailed, match="must not commit it"):
            ax.call("book", {"n": 7})
    assert booked(engine) == []


@pytest.mark.parametrize("goes_on", [True, False], ids=["goes on", "returns"])
def test_a_rollback_by_the_tool_is_no_success_and_nothing_is_left(engine: Engine, goes_on: bool) -> None:
    """Not even what it writes afterwards, which would otherwise be committed on its own."""

    def book(n: int) -> None:
        connection = current().connection
        connection.execute(text("INSERT INTO business VALUES (:n)"), {"n": n})
        connection.rollback()
        if goes_on:
            connection.execute(text("INSERT INTO business VALUES (:n)"), {"n": n + 1})

    with AX(engine=engine) as ax:
        ax.register(book, name="book", policy={"effect": "transactional"})
        with pytest.raises(ToolFailed, match="raise an exception instead"):
            ax.call("book", {"n": 7}, request_id="r")
        task = ax.find_request("r")
        assert task is not None
        assert task.state == "FAILED"
    assert booked(engine) == []


def test_a_users_transaction_rolls_back_without_ax(engine: Engine) -> None:
    with AX(engine=engine) as ax:
        register(ax)
        with engine.connect() as connection:
            connection.execute(text("SELECT COUNT(*) FROM business"))
            ax.call("book", {"n": 1})  # a reader beside it is no obstacle
            connection.rollback()
        assert booked(engine) == [1]


@pytest.mark.parametrize("pool", [NullPool, QueuePool])
def test_an_engine_that_begins_for_itself_works_too(tmp_path: Path, pool: Any) -> None:
    """SQLAlchemy's own recipe for SQLite: no driver's BEGIN, an event that emits one."""
    engine = create_engine(f"sqlite:///{tmp_path / 'shared.db'}", poolclass=pool)

    @event.listens_for(engine, "connect")
    def connected(raw: Any, record: Any) -> None:
        raw.isolation_level = None

    @event.listens_for(engine, "begin")
    def begun(connection: Any) -> None:
        connection.exec_driver_sql("BEGIN")

    with engine.begin() as connection:
        connection.execute(text("CREATE TABLE business (n INTEGER)"))
    with AX(engine=engine) as ax:
        use(ax, engine)
    engine.dispose()


def test_an_engine_in_memory_is_refused_at_first_use() -> None:
    engine = create_engine("sqlite://", poolclass=StaticPool)
    ax = AX(engine=engine)
    with pytest.raises(PolicyError, match=r"in-memory engine cannot be shared: use AX\('sqlite://'\)"):
        ax.tasks()


def test_a_url_and_an_engine_are_one_too_many(engine: Engine) -> None:
    with pytest.raises(PolicyError, match="a url or an engine, not both"):
        AX("sqlite://", engine=engine)


@pytest.mark.parametrize("url", ["oracle+oracledb://localhost/x", "mssql+pyodbc://localhost/x"])
def test_a_database_that_is_not_served_is_refused_at_first_use(url: str) -> None:
    ax = AX(url)
    with pytest.raises(PolicyError, match="AX keeps no record in"):
        ax.tasks()
