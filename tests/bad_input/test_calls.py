"""Calls and registrations that cannot be meant: refused with a typed error that says what to do, and nothing runs."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ax_core import AX, AXError, Effect, InvalidArguments, Policy, PolicyError, UnknownTask, UnknownTool
from support.fresh import fresh


@pytest.fixture
def ax() -> Iterator[AX]:
    with fresh() as ax:
        ax.register(
            lambda n: n, name="refund_order", schema={"properties": {"n": {}}}, policy={"effect": "unsafe"}
        )
        yield ax


@pytest.mark.parametrize("door", ["call", "submit", "acall", "asubmit"])
def test_an_unknown_tool_is_refused_with_near_names_and_leaves_nothing(ax: AX, door: str) -> None:
    with pytest.raises(UnknownTool) as refused:
        answer = getattr(ax, door)("refund_ordr", {"n": 1})
        if door.startswith("a"):
            asyncio.run(answer)
    assert "did you mean 'refund_order'?" in str(refused.value)
    assert "Nothing was done" in refused.value.for_model
    assert refused.value.safe_to_repeat
    assert ax.tasks().tasks == ()


@pytest.mark.parametrize("name", ["", "no\x00name", None, 7])
def test_a_name_that_is_none_is_unknown_too(ax: AX, name: Any) -> None:
    with pytest.raises((UnknownTool, TypeError)):
        ax.call(name)
    assert ax.tasks().tasks == ()


@pytest.mark.parametrize(
    "task_id", ["", "nonsense", "00000000-0000-7000-8000-000000000000", "' OR 1=1 --", "\ud800"]
)
def test_an_unknown_task_is_an_error_of_ax(ax: AX, task_id: str) -> None:
    for look in (ax.get, ax.audit, ax.tree, ax.wait_for_result, ax.verify):
        with pytest.raises(AXError) as refused:
            look(task_id)
        assert isinstance(refused.value, UnknownTask) or "surrogate" in str(refused.value)


@pytest.mark.parametrize(
    "policy, says",
    [
        ({"effect": "unsave"}, "effect 'unsave' is unknown; did you mean 'unsafe'?"),
        ({"efect": "read"}, "policy key 'efect' is unknown; did you mean 'effect'?"),
        ("readonly", "effect 'readonly' is unknown"),
        (7, "a policy is a Policy, an Effect, its text or a mapping, not int"),
        ({"timeout": 0}, "timeout=0 must be a number of seconds above zero"),
        ({"timeout": "30"}, "timeout='30' must be a number of seconds"),
        ({"timeout": float("nan")}, "timeout=nan must be a number"),
        ({"retries": -1}, "retries=-1 must be a whole number"),
        ({"retries": True}, "retries=True must be a whole number"),
        ({"dedupe": "ever"}, "dedupe 'ever' is unknown"),
        ({"dedupe": "global"}, "dedupe='global' needs window="),
        ({"confirm": "yes"}, "confirm='yes' must be True, False or a predicate"),
        ({"not_applied": ("ValueError",)}, "not_applied must be exception types"),
        ({"reconcile": 7}, "reconcile=7 must be callable"),
        ({"key": ()}, "key=() names no argument"),
        ({"effect": "read", "marks_effect": True}, "a READ has no effect to mark"),
        ({"isolation": "process"}, "needs workers"),
        ({"rate": "20/s"}, "enforced by workers only"),
    ],
    ids=str,
)
def test_an_invalid_policy_is_refused_at_registration_and_the_tool_is_not_there(
    ax: AX, policy: Any, says: str
) -> None:
    """Fail closed: a misspelt promise is not taken for none."""
    with pytest.raises(PolicyError) as refused:
        ax.register(lambda: 1, name="other", policy=policy)
    assert says in str(refused.value)
    with pytest.raises(UnknownTool):
        ax.call("other")


def test_the_same_name_with_another_promise_is_refused(ax: AX) -> None:
    for policy in ({"effect": "read"}, Policy(Effect.UNSAFE, retries=1)):
        with pytest.raises(PolicyError, match="registered with another policy; give this one another name"):
            ax.register(lambda n: n, name="refund_order", schema={"properties": {"n": {}}}, policy=policy)
    assert ax.call("refund_order", {"n": 1}) == 1


class Odd:
    """Not data, and no text either."""

    def __repr__(self) -> str:
        raise RuntimeError("no repr")

    def __iter__(self) -> Any:
        raise RuntimeError("no items")


@pytest.mark.parametrize(
    "value",
    [threading.Lock(), Odd(), lambda: 1, {1: "a", "1": "b"}, (n for n in range(3)), object, 1j],
    ids=lambda value: type(value).__name__,
)
@pytest.mark.parametrize("deep", [False, True], ids=["as an argument", "inside one"])
def test_an_argument_that_is_no_data_is_quarantined_and_never_reaches_the_tool(
    ax: AX, value: Any, deep: bool
) -> None:
    ran: list[Any] = []
    ax.register(
        lambda value: ran.append(value),
        name="take",
        schema={"properties": {"value": {}}},
        policy={"effect": "unsafe"},
    )
    for request in ("r", "r", "s"):
        with pytest.raises(InvalidArguments) as refused:
            ax.call("take", {"value": {"inner": [value]} if deep else value}, request_id=request)
        assert "value" in refused.value.for_model
    assert ran == []
    assert {task.state for task in ax.tasks().tasks} == {"QUARANTINE"}
    ax.inbox()


@pytest.mark.parametrize(
    "payload",
    [
        7,
        "text",
        "[1]",
        '{"n": 1',
        '{"n": 1}<|end|>',
        '{"n": 1}{"n": 2}',
        b"\xff",
        [1],
        threading.Lock(),
        {"n": 1, 2: 3},
    ],
    ids=[
        "a number",
        "a text",
        "a list as text",
        "cut off",
        "followed by a stray token",
        "doubled",
        "bytes",
        "a list",
        "a lock",
        "odd keys",
    ],
)
def test_arguments_that_are_no_mapping_are_quarantined(ax: AX, payload: Any) -> None:
    with pytest.raises(InvalidArguments):
        ax.call("refund_order", payload)
    (task,) = ax.tasks().tasks
    assert (task.state, task.reason) == ("QUARANTINE", "invalid_args")


def test_a_payload_that_changes_while_the_tool_runs_does_not_change_the_record(ax: AX) -> None:
    payload = {"n": [1]}

    def take(n: list[int]) -> list[int]:
        payload["n"].append(2)
        n.append(3)
        return list(n)

    ax.register(take, name="take", policy={"effect": "unsafe"})
    assert ax.call("take", payload, request_id="r") == [1, 3]
    task = ax.find_request("r")
    assert task is not None
    assert task.payload == {"n": [1]}


@pytest.mark.parametrize(
    "asked, says",
    [
        ({"request_id": "x" * 256}, "request_id has 256 characters; 255 are allowed"),
        ({"request_id": ""}, "request_id must be text"),
        ({"request_id": 7}, "request_id must be text, not int"),
        ({"key": b"k"}, "key must be text, not bytes"),
        ({"dedupe": "sometimes"}, "dedupe='sometimes' is unknown"),
        ({"dedupe": "global"}, "dedupe='global' needs a window"),
    ],
    ids=str,
)
def test_a_call_that_asks_for_nonsense_is_refused(ax: AX, asked: dict[str, Any], says: str) -> None:
    with pytest.raises(PolicyError) as refused:
        ax.call("refund_order", {"n": 1}, **asked)
    assert says in str(refused.value)
    assert ax.tasks().tasks == ()


@pytest.mark.parametrize("limit", [0, -1, 1001])
def test_a_page_of_nonsense_size_is_refused(ax: AX, limit: int) -> None:
    with pytest.raises(ValueError, match="must be 1 to 1000"):
        ax.tasks(limit=limit)


def test_a_state_that_there_is_not_is_refused(ax: AX) -> None:
    with pytest.raises(ValueError, match="DREAMING"):
        ax.tasks(state="DREAMING")


def test_a_run_that_asks_for_nonsense_is_refused(ax: AX) -> None:
    for asked, says in (
        ({"on_busy": "shove"}, "on_busy='shove' is unknown; one of 'refuse', 'wait', 'supersede'"),
        ({"session": ""}, "session must be text"),
        ({"session": "x" * 300}, "session has 300 characters"),
        ({"key": 7}, "key must be text, not int"),
    ):
        with pytest.raises(PolicyError) as refused:
            ax.run(**asked)  # type: ignore[arg-type]
        assert says in str(refused.value)


@pytest.mark.parametrize(
    "url", ["ax.db", "sqlite", "file:///x", "postgresql://x", "sqlite://ax.db", "sqlite://host/x"]
)
def test_an_odd_url_is_refused_at_first_use(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two slashes instead of three would be a database in memory, and everything lost without a word."""
    monkeypatch.chdir(tmp_path)
    for _ in range(2):
        with pytest.raises(PolicyError, match="SQLite|database URL|keeps no record in|names no database"):
            AX(url).tasks()
    assert list(tmp_path.iterdir()) == []
