"""How TRANSACTIONAL tools end: their writes and the record are one commit."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from typing import Any

import pytest
from sqlalchemy import text

from ax_core import (
    AX,
    NotApplied,
    Task,
    TaskTimeout,
)
from support.aside import outcome
from support.endings_table import (
    READY,
    TABLE,
    TRANSACTIONAL,
    said,
)
from support.expiry import LIMIT, expiring
from support.probe import Held, Probe


def stands(task: Task) -> str:
    return said(task.state.value, task.reason, task.maybe_applied)


@pytest.fixture
def books(ax: AX) -> Iterator[sqlite3.Connection]:
    raw = ax._core.db._connect()
    raw.execute("CREATE TABLE books (amount INTEGER)")
    yield raw
    raw.close()


def booked(books: sqlite3.Connection) -> int:
    return int(books.execute("SELECT COUNT(*) FROM books").fetchone()[0])


def write(ctx: Any) -> None:
    ctx.connection.execute(text("INSERT INTO books VALUES (1)"))


@pytest.mark.parametrize("retries", [0, 2])
@pytest.mark.parametrize("ending", ["returned", "not applied", "raised"])
def test_a_transactional_body_leaves_its_writes_only_with_its_success(
    ax: AX, books: sqlite3.Connection, ending: str, retries: int
) -> None:
    error = {"returned": "done", "not applied": NotApplied("no"), "raised": RuntimeError("no")}[ending]

    def body(ctx: Any) -> Any:
        write(ctx)
        return error

    probe = Probe(*[body] * 3)
    probe.tool(ax, effect=TRANSACTIONAL, retries=retries, backoff=0)
    outcome(lambda: ax.call("pay"))
    task = ax.tasks().tasks[0]
    assert stands(task) == TABLE[ending][TRANSACTIONAL][0]
    assert booked(books) == (1 if ending == "returned" else 0)
    assert probe.count == (1 if ending == "returned" else retries + 1)


def test_a_transactional_timeout_is_rolled_back_and_retried_at_once(
    ax: AX, books: sqlite3.Connection
) -> None:
    held = Held("late")

    def slow(ctx: Any) -> Any:
        write(ctx)
        return held

    def quick(ctx: Any) -> Any:
        write(ctx)
        return "second"

    probe = Probe(slow, quick)
    probe.tool(ax, effect=TRANSACTIONAL, retries=1, backoff=0, timeout=LIMIT)
    with expiring(held):
        assert ax.call("pay") == "second"
    held.go.set()
    assert (booked(books), ax.tasks().tasks[0].attempts) == (1, 2)


def test_a_transactional_timeout_without_retries_is_a_clean_timeout(
    ax: AX, books: sqlite3.Connection
) -> None:
    held = Held("late")
    probe = Probe(lambda ctx: (write(ctx), held)[1])
    probe.tool(ax, effect=TRANSACTIONAL, timeout=LIMIT)
    with expiring(held), pytest.raises(TaskTimeout):
        ax.call("pay")
    task = ax.tasks().tasks[0]
    assert (stands(task), ax.get(task.id).history[-1].closed, booked(books)) == ("TIMEOUT", True, 0)
    held.go.set()


def test_a_transactional_body_that_a_host_interrupts_is_rolled_back_and_ready_again(
    ax: AX, books: sqlite3.Connection
) -> None:
    probe = Probe(lambda ctx: (write(ctx), KeyboardInterrupt())[1], lambda ctx: (write(ctx), "second")[1])
    probe.tool(ax, effect=TRANSACTIONAL)
    with pytest.raises(KeyboardInterrupt):
        ax.call("pay", request_id="r")
    assert (stands(ax.tasks().tasks[0]), booked(books)) == (READY, 0)
    assert ax.call("pay", request_id="r") == "second"
    assert booked(books) == 1
