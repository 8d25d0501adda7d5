"""PgBouncer in transaction mode in front of PostgreSQL: each transaction has another connection of the server."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest
from sqlalchemy import text

from ax_core import AX, State, StoreError, TaskTimeout, current
from ax_core.cli import main
from support.aside import together
from support.ledger import until
from support.servers.databases import POSTGRES, Databases
from support.servers.pgbouncer import PgBouncer

ANY = {"properties": {"n": {}}}


@pytest.fixture(scope="module")
def bouncer(databases: Databases) -> Iterator[PgBouncer]:
    with PgBouncer(databases.server(POSTGRES)) as running:
        yield running


@pytest.fixture
def bare(bouncer: PgBouncer) -> Iterator[str]:
    name = bouncer.behind.empty()
    yield name
    bouncer.behind.drop(name)


@pytest.fixture
def name(bare: str, bouncer: PgBouncer) -> str:
    """A database with AX's tables, made through the proxy."""
    assert main(["migrate", "--url", bouncer.url(bare)]) == 0
    return bare


@pytest.fixture
def ax(name: str, bouncer: PgBouncer) -> Iterator[AX]:
    with AX(bouncer.url(name)) as made:
        yield made


def kept(bouncer: PgBouncer, name: str) -> int:
    """Statements that anybody left prepared on any connection of the server."""
    return sum(
        bouncer.ask("SELECT count(*) FROM pg_prepared_statements", name)[0][0]
        for _ in range(bouncer.connections)
    )


def test_no_statement_is_kept_that_another_client_could_take_for_its_own(
    ax: AX, bouncer: PgBouncer, name: str
) -> None:
    """Drivers number them from 0 on, so whoever comes next would run what somebody else meant by that number."""
    ax.register(lambda n: n, name="act", schema=ANY, policy={"effect": "unsafe"})

    def book(n: int) -> int:
        current().connection.execute(text("SELECT :n"), {"n": n})
        return n

    ax.register(book, policy={"effect": "transactional"})
    for tool in ("act", "book"):
        assert [ax.call(tool, {"n": n}) for n in range(12)] == list(range(12))
    assert len(ax.tasks(limit=100).tasks) == 24
    assert kept(bouncer, name) == 0


def test_a_schema_is_brought_up_down_and_up_again(name: str, bouncer: PgBouncer) -> None:
    for _ in range(2):
        assert main(["migrate", "--url", bouncer.url(name), "--down", "base"]) == 0
        assert main(["migrate", "--url", bouncer.url(name)]) == 0
    assert kept(bouncer, name) == 0


def test_two_clients_mixed_on_the_same_connections_do_each_thing_once(name: str, bouncer: PgBouncer) -> None:
    """Seen from PostgreSQL there are three connections, for all of them."""
    acted: list[int] = []
    with AX(bouncer.url(name)) as one, AX(bouncer.url(name)) as other:
        for ax in (one, other):
            ax.register(lambda n: acted.append(n) or n, name="act", schema=ANY, policy={"effect": "unsafe"})
        said = together(
            [
                lambda ax=ax, n=n: ax.call("act", {"n": n}, request_id=f"r{n}")
                for n in range(20)
                for ax in (one, other)
            ]
        )
        tasks = one.tasks(limit=100).tasks
        assert [one.verify(task.id) for task in tasks] == [None] * 20
    assert sorted(said) == sorted([*range(20), *range(20)])
    assert sorted(acted) == list(range(20))
    assert {(task.state, task.attempts) for task in tasks} == {(State.SUCCESS, 1)}


def test_a_transactional_tool_that_runs_out_of_time_lets_go_of_its_locks(
    ax: AX, bouncer: PgBouncer, name: str
) -> None:
    """The connection of the server that holds its transaction is ended, whatever number the proxy tells."""
    bouncer.behind.ask("CREATE TABLE business (n INTEGER)", name)
    over = threading.Event()

    def book(n: int) -> int:
        current().connection.execute(text("INSERT INTO business VALUES (:n)"), {"n": n})
        over.wait(30)
        return n

    ax.register(book, policy={"effect": "transactional", "timeout": 0.3, "retries": 0})
    with pytest.raises(TaskTimeout):
        ax.call("book", {"n": 1})
    try:
        locked = "SELECT count(*) FROM pg_locks l JOIN pg_class c ON c.oid = l.relation WHERE c.relname = 'business'"
        assert until(lambda: bouncer.behind.ask(locked, name) == [(0,)])
        assert bouncer.behind.ask("SELECT * FROM business", name) == []
    finally:
        over.set()


@pytest.mark.parametrize("effect", ["unsafe", "idempotent", "transactional"])
def test_a_proxy_that_is_started_anew_loses_and_repeats_nothing(
    ax: AX, bouncer: PgBouncer, effect: str
) -> None:
    acted: list[int] = []

    def act(n: int) -> int:
        acted.append(n)
        return n

    ax.register(act, policy={"effect": effect, "dedupe": "call"})
    assert ax.call("act", {"n": 0}) == 0
    bouncer.restart()
    assert ax.call("act", {"n": 1}, request_id="r") == 1
    assert ax.call("act", {"n": 1}, request_id="r") == 1
    assert acted == [0, 1]


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"pool_mode": "statement"}, "set its pool_mode to transaction"),
        ({"max_client_conn": "1"}, "raise its max_client_conn"),
    ],
)
def test_a_proxy_that_will_not_do_is_refused_with_what_to_change(
    name: str, bouncer: PgBouncer, given: dict[str, str], told: str
) -> None:
    with (
        PgBouncer(bouncer.behind, **given) as other,
        other.connect() as _,
        AX(other.url(name)) as ax,
        pytest.raises(StoreError, match=told),
    ):
        ax.tasks()


def test_no_call_is_one_statement_by_itself(ax: AX, monkeypatch: pytest.MonkeyPatch) -> None:
    """The proxy could still hold it when its connection is lost, and send it on after it was looked up."""
    from ax_core.store.servers import lone

    def never(*_: Any) -> None:
        raise AssertionError("sent by itself")

    monkeypatch.setattr(lone.LoneTx, "execute", never)
    ax.register(lambda n: n, name="again", schema=ANY, policy={"effect": "idempotent"})
    assert ax.call("again", {"n": 1}) == 1
