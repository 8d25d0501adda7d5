"""A TRANSACTIONAL tool that runs out of time is undone under its body, wherever that stands; others write on."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from ax_core import AX, State, TaskTimeout, current
from support.alerts import Alerts

TIMEOUT = 0.3
COUNT_FOR_EVER = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"


@pytest.fixture
def table(ax: AX) -> AX:
    ax.register(lambda: None, name="nothing", policy={"effect": "read"})
    ax.call("nothing")
    ax._core.db.write(lambda tx: tx.run("CREATE TABLE business (n INTEGER)"))
    return ax


def rows(ax: AX) -> int:
    return ax._core.db.read(lambda tx: tx.one("SELECT count(*) FROM business"))[0]


def hang_in_the_middle_of_rows(sql: Callable[[str], Any], door: threading.Event) -> None:
    sql("INSERT INTO business VALUES (1), (2), (3)")
    found = sql("SELECT n FROM business")
    found.fetchone()
    door.wait(60)
    sql("INSERT INTO business VALUES (4)")


def write_without_end(sql: Callable[[str], Any], door: threading.Event) -> None:
    while True:
        sql("INSERT INTO business VALUES (1)")


def compute_without_end(sql: Callable[[str], Any], door: threading.Event) -> None:
    sql("INSERT INTO business VALUES (1)")
    sql(COUNT_FOR_EVER)


def swallow_an_interrupted_statement(sql: Callable[[str], Any], door: threading.Event) -> None:
    try:
        sql(
            "INSERT INTO business SELECT i FROM "
            "(WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n)"
        )
    except Exception:
        sql("INSERT INTO business VALUES (2)")


def swallow_every_error(sql: Callable[[str], Any], door: threading.Event) -> None:
    while not door.is_set():
        try:
            sql("INSERT INTO business VALUES (1)")
        except Exception:
            pass


@pytest.mark.parametrize("form", ["sync", "async"])
@pytest.mark.parametrize(
    "body",
    [
        hang_in_the_middle_of_rows,
        write_without_end,
        compute_without_end,
        swallow_an_interrupted_statement,
        swallow_every_error,
    ],
)
async def test_nothing_of_it_is_left_and_others_may_write(
    table: AX, alerts: Alerts, body: Any, form: str
) -> None:
    ax, door = table, threading.Event()

    def hang() -> None:
        body(current().connection.exec_driver_sql, door)

    ax.register(hang, policy={"effect": "transactional", "timeout": TIMEOUT})
    ax.register(lambda: "through", name="other", policy={"effect": "unsafe"})
    began = time.monotonic()
    try:
        with pytest.raises(TaskTimeout):
            _ = ax.call("hang", request_id="r") if form == "sync" else await ax.acall("hang", request_id="r")
        assert ax.call("other") == "through"
        assert time.monotonic() - began < 10  # no one waited for the database's own patience
        task = ax.find_request("r")
        assert task is not None
        assert (task.state, task.history[0].closed) == (State.TIMEOUT, True)
    finally:
        door.set()
    alerts.wait_for("late")
    assert rows(ax) == 0
    again = ax.find_request("r")
    assert again is not None
    assert again.state == State.TIMEOUT


def test_the_moment_of_the_timeout_never_falls_between_two_truths(table: AX) -> None:
    """Bodies that end just about when their time does: a row is there exactly where SUCCESS is on record."""
    ax = table

    def write(n: int) -> None:
        sql = current().connection.exec_driver_sql
        for _ in range(100_000):
            sql(f"INSERT INTO business VALUES ({n})")
            if (current().remaining() or 0.0) < n * 0.0004:
                break

    ax.register(write, policy={"effect": "transactional", "timeout": 0.06})
    told: dict[int, str] = {}
    for n in range(40):
        try:
            ax.call("write", {"n": n}, request_id=str(n))
            told[n] = "SUCCESS"
        except TaskTimeout:
            told[n] = "TIMEOUT"
    for n, said in told.items():
        task = ax.find_request(str(n))
        assert task is not None
        found = ax._core.db.read(lambda tx, n=n: tx.one("SELECT count(*) FROM business WHERE n = :n", n=n))[0]
        assert (task.state, bool(found)) == (said, said == "SUCCESS"), n
    assert "SUCCESS" in told.values()
