"""One odd row hides no other: lists, trees, the inbox and the row itself are shown, and a call on it is told."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from ax_core import AX, AXError, StoreError, ToolFailed
from ax_core.model import TaskRow
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
def ax(tmp_path: Path) -> Iterator[AX]:
    with fresh(path=tmp_path / "ax.db") as ax:
        ax.register(lambda n: n, name="act", schema={"properties": {"n": {}}}, policy={"effect": "unsafe"})
        ax.register(lambda: 1 // 0, name="fail", policy={"effect": "read"})
        ax.register(lambda: 1, name="ask", policy={"effect": "unsafe", "confirm": True, "redact": ("n",)})
        yield ax


def write(ax: AX, sql: str, *values: Any) -> None:
    raw = sqlite3.connect(ax._core.db.path or "")
    with raw:
        assert raw.execute(sql, values).rowcount >= 1
    raw.close()


def corrupt(ax: AX, task_id: str, column: str, garbage: str) -> None:
    value = GARBAGE[garbage]
    if value is None:
        write(ax, f"UPDATE ax_task SET {column} = CAST(? AS TEXT) WHERE id = ?", b"ab\xff\xfe", task_id)
    else:
        write(ax, f"UPDATE ax_task SET {column} = ? WHERE id = ?", value, task_id)


def everything_is_shown(ax: AX, run_id: str, *ids: str) -> None:
    assert {task.id for task in ax.tasks().tasks} == set(ids)
    assert {task.id for task in ax.tree(run_id).tasks} == set(ids)
    for task_id in ids:
        assert ax.get(task_id).id == task_id
        json.dumps([entry.detail for entry in ax.audit(task_id)], default=str)
    ax.inbox()


@pytest.mark.parametrize("garbage", GARBAGE)
@pytest.mark.parametrize("column", TEXT)
def test_a_row_with_garbage_is_shown_and_hides_no_other(ax: AX, column: str, garbage: str) -> None:
    """Succeeded, failed, waiting and quarantined ones; the good one beside them is whole."""
    with ax.run() as run:
        for tool, payload in (
            ("act", {"n": 1}),
            ("act", {"n": 2}),
            ("fail", {}),
            ("ask", {}),
            ("act", {"m": 1}),
        ):
            with suppress(AXError):
                ax.call(tool, payload, request_id=f"{tool} {payload}")
        good, *odd = [task.id for task in reversed(ax.tasks().tasks)]
    for task_id in odd:
        corrupt(ax, task_id, column, garbage)
    everything_is_shown(ax, run.id, good, *odd)
    assert ax.get(good).payload == {"n": 1}
    assert ax.get(good).result == 1


@pytest.mark.parametrize("garbage", GARBAGE)
@pytest.mark.parametrize("column", TEXT)
def test_calling_on_a_row_with_garbage_is_an_answer_or_an_error_of_ax(
    ax: AX, column: str, garbage: str
) -> None:
    """And never runs a tool again that was not to be run again."""
    ran: list[int] = []
    ax.register(lambda: ran.append(1), name="once", policy={"effect": "unsafe"})
    ax.call("once", request_id="r")
    known = ax.find_request("r")
    assert known is not None
    corrupt(ax, known.id, column, garbage)
    with suppress(AXError):
        ax.call("once", request_id="r")
    with suppress(AXError):
        ax.wait_for_result(known.id, timeout=1)
    assert ran == [1]


@pytest.mark.parametrize(
    "garbage", ["cut off", "no JSON at all", "nothing", "too deep", "a blob", "text that is none"]
)
def test_a_result_that_cannot_be_read_says_so(ax: AX, garbage: str) -> None:
    ax.call("act", {"n": 1}, request_id="r")
    known = ax.find_request("r")
    assert known is not None
    corrupt(ax, known.id, "result", garbage)
    with pytest.raises(StoreError, match=r"its stored result cannot be read.*it was not run again") as told:
        ax.call("act", {"n": 1}, request_id="r")
    assert told.value.task_id == known.id
    assert "done" in told.value.for_model
    assert "unreadable" in str(ax.get(known.id).result).lower()


@pytest.mark.parametrize(
    "garbage", ["cut off", "nothing", "too deep", "a blob", "a list", "a number", "text that is none"]
)
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
    write(ax, f"UPDATE ax_task SET {column} = ? WHERE id = ?", value, odd.id)
    everything_is_shown(ax, run.id, odd.id, good.id)


@pytest.mark.parametrize("column", [name for name in TaskRow._fields if name not in ("id", "ns", "run_id")])
def test_a_missing_value_hides_no_other_row(ax: AX, column: str) -> None:
    with ax.run() as run:
        ax.call("act", {"n": 1}, request_id="odd")
        ax.call("act", {"n": 2}, request_id="good")
    odd, good = (task.id for task in reversed(ax.tasks().tasks))
    raw = sqlite3.connect(ax._core.db.path or "")
    raw.execute("PRAGMA writable_schema=1")
    raw.execute("UPDATE sqlite_master SET sql = replace(sql, ' NOT NULL', '') WHERE name = 'ax_task'")
    raw.commit()
    raw.close()
    write(ax, f"UPDATE ax_task SET {column} = NULL WHERE id = ?", odd)
    everything_is_shown(ax, run.id, odd, good)


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


def test_an_odd_tool_row_hides_no_task(ax: AX, tmp_path: Path) -> None:
    ax.call("act", {"n": 1})
    write(ax, "UPDATE ax_tool SET policy = '[1, 2', schema = 'no'")
    with fresh(path=tmp_path / "ax.db") as other:  # knows no tool, and has to look there what to redact
        assert [task.payload for task in other.tasks().tasks] == [{"n": 1}]
    for policy in ("[1, 2]", "7", '{"redact": 7}', '{"redact": [7]}'):
        write(ax, "UPDATE ax_tool SET policy = ?", policy)
        with fresh(path=tmp_path / "ax.db") as other:
            assert len(other.tasks().tasks) == 1
