"""One odd row hides no other: lists, trees, the inbox and the row itself are shown, and a call on it is told."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from ax_core import AX, AXError, Budget, NotAllowed, StoreError, ToolFailed
from ax_core.codec import Unreadable
from ax_core.model import TaskRow
from support.axd import Axd
from support.fresh import fresh

TEXT = ["result", "error", "payload", "notes", "address"]
DEEP = "[" * 100_000
GARBAGE: dict[str, Any] = {
    "cut off": '{"a": [1, 2',
    "no JSON at all": "\x00\x01binary\x7f",
    "nothing": "",
    "a number": "7",
    "a list": "[1, 2]",
    "a string": '"text"',
    "null": "null",
    "a later format": '{"$ax": "quantum", "v": {"future": true}}',
    "a broken tag": '{"$ax": "datetime", "v": "yesterday"}',
    "a broken class": '{"$ax": "dataclass", "t": "no.such.Class", "v": {}}',
    "too deep": DEEP,
    "a blob": b"\xff\xfe\x00",
    "an integer": 12345,
    "text that is none": None,  # written as bytes cast to text
}


@pytest.fixture
def ax() -> Iterator[AX]:
    with fresh() as ax:
        register(ax)
        yield ax


def register(ax: AX) -> None:
    ax.register(lambda n: n, name="act", schema={"properties": {"n": {}}}, policy={"effect": "unsafe"})
    ax.register(lambda n=0: 1 // 0, name="fail", schema={"properties": {"n": {}}}, policy={"effect": "read"})
    asks = {"effect": "unsafe", "confirm": True, "redact": ("secret",)}
    ax.register(lambda n=0: 1, name="ask", schema={"properties": {"n": {}}}, policy=asks)


def write(ax: AX, sql: str, **values: Any) -> None:
    assert ax._core.db.write(lambda tx: tx.run(sql, **values)) >= 1


def corrupt(ax: AX, task_id: str, column: str, garbage: str) -> None:
    value, place = GARBAGE[garbage], ":value"
    if value is None:
        value, place = b"ab\xff\xfe", "CAST(:value AS TEXT)"
    write(ax, f"UPDATE ax_task SET {column} = {place} WHERE id = :id", value=value, id=task_id)


def everything_is_shown(ax: AX, run_id: str, *ids: str) -> None:
    assert {task.id for task in ax.tasks().tasks} == set(ids)
    assert {task.id for task in ax.tree(run_id).tasks} == set(ids)
    for task_id in ids:
        assert ax.get(task_id).id == task_id
        json.dumps([entry.detail for entry in ax.audit(task_id)], default=str)
    ax.inbox()


@pytest.mark.parametrize("garbage", GARBAGE)
def test_a_row_with_garbage_is_shown_and_hides_no_other(ax: AX, garbage: str) -> None:
    """Succeeded, failed, waiting and quarantined ones; the good one beside them is whole."""
    calls = [("act", "n"), ("fail", "n"), ("ask", "n"), ("act", "m")]
    with ax.run() as run:
        ax.call("act", {"n": 1})
        for column in TEXT:
            for tool, argument in calls:
                with suppress(AXError):
                    ax.call(tool, {argument: column})
        good, *odd = [task.id for task in reversed(ax.tasks().tasks)]
    assert len(odd) == len(TEXT) * len(calls)
    for at, task_id in enumerate(odd):
        corrupt(ax, task_id, TEXT[at // len(calls)], garbage)
    everything_is_shown(ax, run.id, good, *odd)
    assert ax.get(good).payload == {"n": 1}
    assert ax.get(good).result == 1


@pytest.mark.parametrize("garbage", GARBAGE)
def test_every_command_shows_a_row_with_garbage_beside_the_others(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], garbage: str
) -> None:
    with fresh(path=tmp_path / "ax.db") as ax:
        register(ax)
        with ax.run() as run:
            for column in TEXT:
                ax.call("act", {"n": column})
            with suppress(AXError):
                ax.call("ask", {"n": 1})
        (asked, *odd) = [task.id for task in ax.tasks().tasks]
        for column, task_id in zip(TEXT, odd, strict=True):
            corrupt(ax, task_id, column, garbage)
        corrupt(ax, asked, "payload", garbage)
        axd = Axd(ax._core.url or "", capsys)
        for words in (["tasks"], ["tree", run.id], ["inbox"], ["tools"], ["audit", asked], ["show", asked]):
            assert axd(*words).code == axd(*words, "--json").code == 0, words
        assert {task["ax_task_id"] for task in axd.json("tasks")["tasks"]} == {asked, *odd}
        assert all(axd.json("show", task_id)["ax_task_id"] == task_id for task_id in odd)


@pytest.mark.parametrize("garbage", GARBAGE)
def test_calling_on_a_row_with_garbage_is_an_answer_or_an_error_of_ax(ax: AX, garbage: str) -> None:
    """And never runs a tool again that was not to be run again."""
    ran: list[str] = []
    ax.register(lambda: ran.append("once"), name="once", policy={"effect": "unsafe"})
    for column in TEXT:
        ax.call("once", request_id=column)
        known = ax.find_request(column)
        assert known is not None
        corrupt(ax, known.id, column, garbage)
        with suppress(AXError):
            ax.call("once", request_id=column)
        with suppress(AXError):
            ax.wait_for_result(known.id, timeout=1)
    assert len(ran) == len(TEXT)


@pytest.mark.parametrize("garbage", ["cut off", "no JSON at all", "nothing", "too deep", "a blob"])
def test_a_result_that_cannot_be_read_says_so(ax: AX, garbage: str) -> None:
    ax.call("act", {"n": 1}, request_id="r")
    known = ax.find_request("r")
    assert known is not None
    corrupt(ax, known.id, "result", garbage)
    with pytest.raises(StoreError, match=r"its stored result cannot be read.*it was not run again") as told:
        ax.call("act", {"n": 1}, request_id="r")
    assert told.value.task_id == known.id
    assert "done" in told.value.for_model
    assert isinstance(ax.get(known.id).result, Unreadable)


@pytest.mark.parametrize("garbage", ["cut off", "nothing", "too deep", "a blob", "a list", "a number"])
def test_arguments_that_cannot_be_read_are_not_run_on(ax: AX, garbage: str) -> None:
    """A task that would be tried again needs its stored arguments: it is told, and is free for a person."""
    with pytest.raises(ToolFailed):
        ax.call("fail", request_id="r")
    known = ax.find_request("r")
    assert known is not None
    corrupt(ax, known.id, "payload", garbage)
    for _ in range(2):
        with pytest.raises(AXError) as told:
            ax.call("fail", request_id="r")
        assert isinstance(told.value, StoreError), told.value
        assert "arguments" in str(told.value)
    assert ax.get(known.id).state != "RUNNING"


@pytest.mark.parametrize(
    "column, value",
    [("state", "DREAMING"), ("effect", "cosmic"), ("reason", "because"), ("created_at", 2**62)],
)
def test_a_word_of_a_later_version_hides_no_other_row(ax: AX, column: str, value: Any) -> None:
    with ax.run() as run:
        ax.call("act", {"n": 1}, request_id="odd")
        ax.call("act", {"n": 2}, request_id="good")
    odd, good = (ax.find_request(name) for name in ("odd", "good"))
    assert odd is not None
    assert good is not None
    write(ax, f"UPDATE ax_task SET {column} = :value WHERE id = :id", value=value, id=odd.id)
    everything_is_shown(ax, run.id, odd.id, good.id)


def test_a_missing_value_hides_no_other_row(tmp_path: Path) -> None:
    columns = [name for name in TaskRow._fields if name not in ("id", "ns", "run_id")]
    with fresh(path=tmp_path / "ax.db") as ax:
        register(ax)
        with ax.run(budget=Budget(tasks=None)) as run:
            for n in range(len(columns) + 1):
                ax.call("act", {"n": n}, request_id=str(n))
        ids = [task.id for task in reversed(ax.tasks(limit=100).tasks)]
    raw = sqlite3.connect(tmp_path / "ax.db", isolation_level=None)
    raw.execute("PRAGMA writable_schema=1")
    raw.execute("UPDATE sqlite_master SET sql = replace(sql, ' NOT NULL', '') WHERE name = 'ax_task'")
    raw.close()
    raw = sqlite3.connect(tmp_path / "ax.db", isolation_level=None)
    for column, task_id in zip(columns, ids, strict=False):
        raw.execute(f"UPDATE ax_task SET {column} = NULL WHERE id = ?", (task_id,))
    raw.close()
    with fresh(path=tmp_path / "ax.db") as ax:
        assert len(ax.tasks(limit=100).tasks) == len(ids)
        assert len(ax.tree(run.id).tasks) == len(ids)
        assert [ax.get(task_id).id for task_id in ids] == ids
        ax.inbox()


def test_odd_audit_entries_attempts_and_approvals_are_shown_too(ax: AX) -> None:
    with ax.run() as run:
        with suppress(AXError):
            ax.call("fail", request_id="f")
        with suppress(AXError):
            ax.call("ask", request_id="a")
    failed, asked = (task.id for task in reversed(ax.tasks().tasks))
    write(ax, "UPDATE ax_audit SET detail = '{cut', source = 'DREAMING', verb = 'mused'")
    write(ax, "UPDATE ax_attempt SET error = '[1', late_result = '{', late_at = 7, outcome = 'vanished'")
    write(ax, "UPDATE ax_approval SET decision = 'shrugged', decided_at = 9, decided_by = 'nobody'")
    everything_is_shown(ax, run.id, failed, asked)
    assert ax.verify(failed) == 1
    assert ax.verify(asked) == 1


@pytest.mark.parametrize("policy", ["[1, 2", "[1, 2]", "7", "", '{"redact": 7}', '{"redact": [7]}'])
def test_an_odd_tool_row_hides_no_task(tmp_path: Path, policy: str) -> None:
    with fresh(path=tmp_path / "ax.db") as ax:
        register(ax)
        ax.call("act", {"n": 1})
        write(ax, "UPDATE ax_tool SET policy = :policy, schema = 'no'", policy=policy)
    with fresh(path=tmp_path / "ax.db") as other:  # knows no tool, and has to look there what to redact
        assert [task.payload for task in other.tasks().tasks] == [{"n": 1}]


def test_a_state_that_nobody_knows_is_told_and_nothing_runs(ax: AX) -> None:
    ax.call("act", {"n": 1}, request_id="r")
    known = ax.find_request("r")
    assert known is not None
    write(ax, "UPDATE ax_task SET state = 'ADRIFT' WHERE id = :id", id=known.id)
    for ask in (
        lambda: ax.call("act", {"n": 1}, request_id="r"),
        lambda: ax.wait_for_result(known.id, timeout=1),
    ):
        with pytest.raises(StoreError, match="unknown state 'ADRIFT'.*not run") as told:
            ask()
        assert told.value.task_id == known.id
    for verb in (ax.requeue, ax.cancel, ax.confirm, partial(ax.resolve, happened=True)):
        with pytest.raises(NotAllowed):
            verb(known.id, by="ops")
