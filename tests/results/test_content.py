"""Odd content: NUL, lone surrogates, emoji, not-a-numbers. Its caller gets it unchanged, no write ever fails of it."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest

from ax_core import AX, AXError, InvalidArguments, PolicyError, current

Restart = Callable[[], AX]
TEXTS = {
    "nul": "a\x00b",
    "a lone surrogate": "a\ud800b",
    "a pair of surrogates": "\ud83d\ude00",
    "an emoji": "a🙂b",
    "utf-16 read as text": b"\xff\xfeh\x00i\x00".decode("latin-1"),
    "not characters": "\ufffe\uffff",
    "line separators": "a\u2028b\u2029c\x85d\r\n",
    "control characters": "".join(map(chr, range(32))),
    "combining": "e\u0301 vs é",
    "right to left": "\u202eevil\u202c",
}


@pytest.mark.parametrize("name", TEXTS)
def test_a_result_with_odd_text_is_stored_and_comes_back(restart: Restart, name: str) -> None:
    text = TEXTS[name]
    value = {"text": text, text: "as a key", "deep": [[text]]}
    ax = restart()
    ax.register(lambda: value, name="give", policy={"effect": "unsafe"})
    assert ax.call("give", request_id="r") is value
    ax = restart()
    ax.register(lambda: value, name="give", policy={"effect": "unsafe"})
    assert ax.call("give", request_id="r") == value
    task = ax.find_request("r")
    assert task is not None
    assert task.result == value


@pytest.mark.parametrize("name", TEXTS)
def test_arguments_with_odd_text_reach_the_tool_unchanged_or_are_refused(restart: Restart, name: str) -> None:
    """Never altered on the way: the tool gets the very text, or is not entered, and the record says so."""
    text, got = TEXTS[name], []

    def take(text: str) -> None:
        got.append(text)

    ax = restart()
    ax.register(take, name="take", policy={"effect": "unsafe"})
    try:
        ax.call("take", {"text": text}, request_id="r")
    except InvalidArguments as refused:
        assert got == []
        assert "text" in refused.for_model
    else:
        assert got == [text]
        ax = restart()
        ax.register(take, name="take", policy={"effect": "unsafe"})
        ax.call("take", {"text": text}, request_id="r")
        task = ax.find_request("r")
        assert task is not None
        assert task.payload == {"text": text}
    assert len(ax.tasks().tasks) == 1
    assert got in ([], [text])


@pytest.mark.parametrize("name", TEXTS)
def test_an_error_with_odd_text_is_recorded(restart: Restart, name: str) -> None:
    def fail() -> None:
        raise ValueError(TEXTS[name])

    ax = restart()
    ax.register(fail, name="fail", policy={"effect": "unsafe"})
    with pytest.raises(AXError) as failed:
        ax.call("fail", request_id="r")
    assert str(failed.value.__cause__) == TEXTS[name]
    ax = restart()
    task = ax.find_request("r")
    assert task is not None
    assert (task.state, task.error and task.error["type"]) == ("FAILED", "ValueError")


@pytest.mark.parametrize("name", ["nul", "a lone surrogate", "control characters", "line separators"])
def test_an_id_with_odd_characters_is_refused_before_anything_runs(restart: Restart, name: str) -> None:
    ran: list[int] = []
    ax = restart()
    ax.register(lambda: ran.append(1), name="act", policy={"effect": "unsafe"})
    for where in ("request_id", "key"):
        with pytest.raises(PolicyError, match=f"{where} must be printable text"):
            ax.call("act", **{where: TEXTS[name]})
    assert ran == []
    assert ax.tasks().tasks == ()


@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize("what", ["session", "key", "intent"])
def test_a_run_with_odd_text_is_opened_or_refused_with_an_error_of_ax(
    restart: Restart, what: str, name: str
) -> None:
    ax = restart()
    ax.register(lambda: current().run_id, name="act")
    try:
        with ax.run(**{what: TEXTS[name]}) as run:  # type: ignore[arg-type]
            assert ax.call("act") == run.id
    except AXError as refused:
        assert what in str(refused) or "surrogate" in str(refused)
    else:
        assert getattr(ax.tree(run.id).run, what) == TEXTS[name]


@pytest.mark.parametrize("name", TEXTS)
def test_a_person_with_an_odd_name_or_an_odd_reason_decides_or_is_refused(
    restart: Restart, name: str
) -> None:
    ax = restart()
    ax.register(
        lambda n: n,
        name="ask",
        schema={"properties": {"n": {}}},
        policy={"effect": "unsafe", "confirm": True},
    )
    for n, said in enumerate(({"by": TEXTS[name]}, {"by": "ops", "reason": TEXTS[name]})):
        with pytest.raises(AXError) as pending:
            ax.call("ask", {"n": n})
        task_id = pending.value.task_id or ""
        try:
            ax.reject(task_id, **said)
        except AXError:
            assert ax.get(task_id).state == "CONFIRMING"
        else:
            assert ax.get(task_id).state == "CANCELLED"
            assert ax.verify(task_id) is None


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf], ids=str)
@pytest.mark.parametrize("place", ["argument", "deep inside"])
def test_a_number_that_is_none_among_the_arguments_is_quarantined(
    restart: Restart, number: float, place: str
) -> None:
    """It would defeat every comparison in a rule: the tool is not entered."""
    ran: list[Any] = []

    def pay(amount: Any) -> None:
        ran.append(amount)

    ax = restart()
    ax.register(pay, name="pay", policy={"effect": "unsafe"})
    with pytest.raises(InvalidArguments):
        ax.call("pay", {"amount": number if place == "argument" else [{"x": number}]})
    assert ran == []
    (task,) = ax.tasks().tasks
    assert (task.state, task.reason) == ("QUARANTINE", "invalid_args")
