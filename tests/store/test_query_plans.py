"""What AX asks of SQLite is answered through an index: a million rows more do not make a call slower."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from ax_core import AX, AXError, RunState, State
from ax_core.store import queries
from ax_core.store.dialects import Dialect
from ax_core.store.ready import ready
from ax_core.store.tx import Tx
from support.fresh import beat, fresh, tick

ANY = {"properties": {"x": {}}}
NEWEST_FIRST = re.compile(r"ORDER BY id DESC LIMIT")
# A partial index: only what it is asked for is in it.
FEW = "SEARCH ax_task USING INDEX ix_task_half_open (attempt_open=?)"
WALKS = {f"SCAN ax_{of} USING INDEX sqlite_autoindex_ax_{of}_1" for of in ("task", "run")}
WRITES = ("INSERT", "UPDATE", "DELETE")
COUNTS = "SELECT state, COUNT(*) FROM ax_task WHERE ns = :ns AND state <> 'SUCCESS'"


class Asked:
    """Every statement that went to the database, with its plan."""

    def __init__(self) -> None:
        self.sql: dict[str, Any] = {}

    def plan(self, ax: AX, sql: str) -> list[str]:
        def op(tx: Tx) -> list[Any]:
            found = tx._cursor.execute("EXPLAIN QUERY PLAN " + sql, self.sql[sql])
            return list(found.fetchall())

        return [row[3] for row in ax._core.db.read(op)]

    def list(self) -> str:
        """The one list of tasks that was asked for; a watch may ask something of its own meanwhile."""
        (sql,) = [sql for sql in self.sql if NEWEST_FIRST.search(sql)]
        return sql


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Asked:
    made = Asked()
    for name in ("run", "one", "all"):
        was = getattr(Tx, name)

        def noting(tx: Tx, sql: str, was: Any = was, **params: Any) -> Any:
            if not sql.startswith("EXPLAIN"):
                made.sql.setdefault(sql, params)
            return was(tx, sql, **params)

        monkeypatch.setattr(Tx, name, noting)
    update = Tx.update

    def updating(tx: Tx, sql: str, values: tuple[Any, ...]) -> int:
        made.sql.setdefault(sql, values)
        return update(tx, sql, values)

    monkeypatch.setattr(Tx, "update", updating)
    return made


@pytest.fixture
def ax(asked: Asked) -> Iterator[AX]:
    with fresh() as ax:
        register(ax)
        yield ax


def register(ax: AX) -> None:
    ax.register(lambda x: x, name="act", schema=ANY, policy={"effect": "unsafe"})
    ax.register(lambda x: x, name="look", schema=ANY, policy={"effect": "read"})
    ax.register(
        lambda x: 1 // 0,
        name="fail",
        schema=ANY,
        policy={"effect": "unsafe", "reconcile": lambda ctx: None},
    )
    ax.register(lambda x: x, name="ask", schema=ANY, policy={"effect": "unsafe", "confirm": True})


def everything(ax: AX) -> None:
    """Calls, repeats, failures, a decision, runs within runs, the watch's duties, and what people look at."""
    with ax.run(session="one", key="k") as run:
        with ax.run(intent="inner"):
            ax.call("act", {"x": 0})
        for request in ("a", "b", "a"):
            ax.call("act", {"x": 1}, request_id=request)
        for _ in range(21):
            ax.call("look", {"x": 1})
        with suppress(AXError):
            ax.call("fail", {"x": 1}, request_id="f")
        with suppress(AXError):
            ax.call("ask", {"x": 1}, request_id="c")
        waiting = ax.find_request("c")
        assert waiting is not None
        ax.confirm(waiting.id, by="ops")
        ax.call("ask", {"x": 1}, request_id="c")
    handle = ax.submit("act", {"x": 9})
    ax.wait_for_result(handle, timeout=20)
    beat(ax)
    tick(ax)
    with ax.serve() as serving:
        serving.round()
    ax.tree(run.id)
    ax.inbox()
    ax.get(handle)
    ax.audit(handle)
    for state in State:
        ax.tasks(state=state)
        ax.tasks(state=state, session="one")
    ax.tasks(state=["FAILED", "QUARANTINE"])
    ax.tasks(session="one")
    ax.tasks(since=datetime.now(UTC))
    ax.tasks(after=ax.tasks(limit=2).after)
    ax.tasks()
    for kind in RunState:
        ax.runs(state=kind)
    ax.runs(session="one")
    ax.runs(after=ax.runs(limit=1).after)
    ax._core.db.read(lambda tx: queries.counts(tx, "default"))
    with suppress(AXError):
        ax.rollback(run.id, by="ops")
    ax.cancel(run.id)
    ax.purge(0, forget_after=0)


def test_no_question_walks_through_all_tasks_or_runs(ax: AX, asked: Asked) -> None:
    """But for newest-first lists of everything or of the successes, which walk the ids from the end and stop."""
    everything(ax)
    assert len(asked.sql) > 40
    scans = {
        (sql, step)
        for sql in asked.sql
        if not sql.startswith(COUNTS)
        for step in asked.plan(ax, sql)
        if step.startswith("SCAN") and step != FEW and not (step in WALKS and NEWEST_FIRST.search(sql))
    }
    assert scans == set()


def test_counting_looks_at_nothing_but_an_index(ax: AX, asked: Asked) -> None:
    everything(ax)
    (sql,) = [sql for sql in asked.sql if sql.startswith(COUNTS)]
    assert asked.plan(ax, sql) == ["SCAN ax_task USING COVERING INDEX ix_task_state"]


@pytest.mark.parametrize("state", [state for state in State if state is not State.SUCCESS])
def test_a_list_by_state_is_sorted_by_its_index(ax: AX, asked: Asked, state: State) -> None:
    asked.sql.clear()
    ax.tasks(state=state)
    assert asked.plan(ax, asked.list()) == ["SEARCH ax_task USING INDEX ix_task_state (state=? AND ns=?)"]


@pytest.mark.parametrize(
    "filters, index",
    [
        ({"session": "one"}, "ix_task_session (ns=? AND session=?)"),
        ({"after": "x"}, "sqlite_autoindex_ax_task_1 (id<?)"),
        ({"since": datetime.now(UTC)}, "sqlite_autoindex_ax_task_1 (id>?)"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_a_list_newest_first_is_sorted_by_its_index(
    ax: AX, asked: Asked, filters: dict[str, Any], index: str
) -> None:
    asked.sql.clear()
    ax.tasks(**filters)
    plan = asked.plan(ax, asked.list())
    assert plan[0] == f"SEARCH ax_task USING INDEX {index}"
    assert not any("TEMP B-TREE" in step for step in plan)


@pytest.mark.parametrize(
    "filters,index",
    [
        ({"session": "one"}, "ix_run_session (ns=? AND session=?)"),
        ({"state": ["OPEN", "PAUSED"]}, "ix_run_state (ns=? AND state=?)"),
        ({"after": "x"}, "sqlite_autoindex_ax_run_1 (id<?)"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_a_list_of_runs_is_found_by_its_index(
    ax: AX, asked: Asked, filters: dict[str, Any], index: str
) -> None:
    asked.sql.clear()
    ax.runs(**filters)
    assert asked.plan(ax, asked.list())[0] == f"SEARCH ax_run USING INDEX {index}"


def test_a_tree_is_found_by_its_run_and_its_root(ax: AX, asked: Asked) -> None:
    with ax.run() as run:
        ax.call("act", {"x": 1})
    asked.sql.clear()
    ax.tree(run.id)
    steps = [step for sql in asked.sql for step in asked.plan(ax, sql)]
    assert "SEARCH ax_task USING INDEX ix_task_run (run_id=?)" in steps
    assert "SEARCH ax_run USING INDEX ix_run_root (root_id=?)" in steps


@pytest.mark.parametrize("ns", [None, "default"])
def test_what_is_ready_is_read_in_the_order_of_its_index(ax: AX, asked: Asked, ns: str | None) -> None:
    """No more than is asked for, whatever stands in all namespaces; a queue of a million is gone through once."""
    ax.call("look", {"x": 1})
    ax._core.db.write(lambda tx: tx.run("UPDATE ax_task SET state = 'QUEUED'"))
    asked.sql.clear()
    assert (
        len(ax._core.db.read(lambda tx: ready(tx, ax._core.clock.now(), 10, after="", before=1 << 60, ns=ns)))
        == 1
    )
    plans = [asked.plan(ax, sql) for sql in asked.sql if "state = :state" in sql]
    assert len(plans) == (1 if ns else 2)
    for (step,) in plans:
        assert step.startswith("SEARCH ax_task USING")
        assert "ix_task_state (state=? AND ns" in step


def test_a_beat_does_not_look_at_what_has_ended(ax: AX, asked: Asked) -> None:
    """What has failed or is quarantined stays for ever; the watch asks every few seconds."""
    asked.sql.clear()
    beat(ax)
    steps = [step for sql in asked.sql for step in asked.plan(ax, sql)]
    assert FEW in steps


def test_a_list_since_a_moment_has_all_since_that_moment(ax: AX) -> None:
    for x in range(3):
        ax.call("act", {"x": x})
    second = ax.tasks().tasks[1]
    assert [task.payload["x"] for task in ax.tasks(since=second.created_at).tasks] == [2, 1]


def test_a_read_never_becomes_a_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every transaction that writes says so at its beginning: an upgrade could be refused in the middle."""
    said: list[list[str]] = []
    prepare = Dialect.prepare

    def prepared(self: Dialect, raw: Any) -> None:
        prepare(self, raw)
        said.append([])
        raw.set_trace_callback(said[-1].append)

    monkeypatch.setattr(Dialect, "prepare", prepared)
    with fresh(path=tmp_path / "ax.db") as ax:
        register(ax)
        everything(ax)
    writing = [statements for statements in said if any(sql.startswith(WRITES) for sql in statements)]
    assert writing
    for statements in writing:
        began = ""
        for sql in statements:
            if sql.startswith(("BEGIN", "COMMIT", "ROLLBACK")) and not sql.startswith("ROLLBACK TO"):
                began = sql
            assert not sql.startswith(WRITES) or began == "BEGIN IMMEDIATE", (sql, began)
