"""Sizes: what is too large to store is cut to a placeholder before any write, and the tool runs once all the same."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ax_core import AX, InvalidArguments
from ax_core.codec import Opaque

Restart = Callable[[], AX]
CAP = 1_048_576


@pytest.mark.parametrize("size", [1_000, 65_537, CAP // 2, CAP + 1, 70_000_000])
@pytest.mark.parametrize("kind", ["text", "bytes", "rows"])
def test_a_large_result_reaches_its_caller_and_is_stored_within_the_cap(
    restart: Restart, tmp_path: Path, size: int, kind: str
) -> None:
    value: Any = {
        "text": lambda: "x" * size,
        "bytes": lambda: os.urandom(1000) * (size // 1000),
        "rows": lambda: [{"n": 7, "data": "y" * 1000}] * (size // 1000),
    }[kind]()
    ran: list[int] = []

    def give() -> Any:
        ran.append(1)
        return value

    ax = restart()
    ax.register(give, name="give", policy={"effect": "unsafe", "retries": 3})
    assert ax.call("give", request_id="r") is value
    ax = restart()
    ax.register(give, name="give", policy={"effect": "unsafe", "retries": 3})
    again = ax.call("give", request_id="r")
    if size < CAP // 2:
        assert again == value
    elif size > CAP:
        assert isinstance(again, Opaque)
        assert again.note
    assert ran == [1]
    assert (tmp_path / "ax.db").stat().st_size < 4 * CAP


def test_arguments_of_five_megabytes_are_quarantined_and_not_stored(restart: Restart, tmp_path: Path) -> None:
    ran: list[int] = []

    def take(text: str) -> None:
        ran.append(len(text))

    ax = restart()
    ax.register(take, name="take", policy={"effect": "unsafe"})
    for request in (None, "r", "r"):
        with pytest.raises(InvalidArguments) as refused:
            ax.call("take", {"text": "x" * 5_000_000}, request_id=request)
        assert len(refused.value.for_model) < 2_000
        assert "1048576" in refused.value.for_model.replace(",", "") or "MB" in refused.value.for_model
    assert ran == []
    assert {(task.state, task.reason) for task in ax.tasks().tasks} == {("QUARANTINE", "invalid_args")}
    assert len(ax.tasks().tasks) == 2
    ax.close()
    assert (tmp_path / "ax.db").stat().st_size < CAP


def test_a_result_just_below_the_cap_is_kept_whole(restart: Restart) -> None:
    value = "x" * (CAP - 100)
    ax = restart()
    ax.register(lambda: value, name="give")
    ax.call("give", request_id="r")
    assert ax.call("give", request_id="r") == value


def test_the_cap_is_a_setting(tmp_path: Path) -> None:
    with AX(f"sqlite:///{tmp_path}/ax.db", result_cap=4096, payload_cap=4096) as ax:
        ax.register(lambda text: text, name="echo", schema={"properties": {"text": {"type": "string"}}})
        assert ax.call("echo", {"text": "x" * 3000}, request_id="a") == "x" * 3000
        assert ax.call("echo", {"text": "x" * 3000}, request_id="a") == "x" * 3000
        with pytest.raises(InvalidArguments):
            ax.call("echo", {"text": "x" * 5000})
        ax.register(lambda: "x" * 5000, name="give")
        ax.call("give", request_id="b")
        assert isinstance(ax.call("give", request_id="b"), Opaque)


@pytest.mark.parametrize("cap", [4096, 4 * CAP])
def test_the_cap_holds_for_edited_arguments_too(cap: int) -> None:
    with AX("sqlite://", payload_cap=cap) as ax:
        schema = {"properties": {"text": {"type": "string"}}}
        ax.register(
            lambda text: len(text), name="echo", schema=schema, policy={"effect": "unsafe", "confirm": True}
        )
        task = ax.submit("echo", {"text": "x"}, request_id="r")
        with pytest.raises(InvalidArguments):
            ax.confirm(task, by="ops", payload={"text": "x" * (cap + 1)})
        assert ax.confirm(task, by="ops", payload={"text": "x" * (cap - 100)}).done
        assert ax.call("echo", {"text": "x"}, request_id="r") == cap - 100


def test_the_cap_holds_at_a_claim_under_another_version(tmp_path: Path) -> None:
    """What was admitted under a larger cap than the default is not taken for a change of the tool."""
    schema = {"properties": {"text": {"type": "string"}}}
    url = f"sqlite:///{tmp_path}/ax.db"
    with AX(url, payload_cap=4 * CAP) as ax:
        ax.register(lambda text: len(text), name="echo", schema=schema, policy={"effect": "unsafe"})
        ax.pause("echo", by="ops")
        task = ax.submit("echo", {"text": "x" * (2 * CAP)}, request_id="r")
    with AX(url, payload_cap=4 * CAP) as ax:
        other = {**schema, "description": "another version"}
        ax.register(lambda text: len(text), name="echo", schema=other, policy={"effect": "unsafe"})
        ax.resume("echo", by="ops")
        assert ax.wait_for_result(task, timeout=20) == 2 * CAP
