"""The first caller gets the tool's very object; whoever asks again, after a restart too, gets an equal one."""

from __future__ import annotations

import asyncio
import datetime as dt
import math
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from pathlib import Path, PurePosixPath
from typing import Any

import pytest
from pydantic import BaseModel

from ax_core import AX, ToolFailed
from ax_core.codec import Opaque

Restart = Callable[[], AX]


class Invoice(BaseModel):
    number: int
    amount: Decimal
    paid: dt.datetime | None = None


@dataclass
class Point:
    x: int
    y: float


class Colour(Enum):
    RED = "red"


VALUES: dict[str, Any] = {
    "nothing": None,
    "a text": "naïve 🙂",
    "a tuple": (1, (2, "three"), []),
    "a mapping with numbers for keys": {1: "one", 2: {3: "three"}},
    "mixed keys that would collide as text": {1: "number", "1": "text", True is None: "no"},
    "a set": {1, 2, 3},
    "a decimal": Decimal("10.10"),
    "a fraction": Fraction(1, 3),
    "a long number": 12345678901234567890123,
    "a moment": dt.datetime(2024, 2, 29, 12, 0, 0, 123456, dt.UTC),
    "a naive moment": dt.datetime(2024, 2, 29, 12, 0),
    "a day": dt.date(2024, 2, 29),
    "a duration": dt.timedelta(days=1, microseconds=5),
    "bytes": b"\x00\xff\xfe",
    "an id": uuid.UUID("12345678-1234-5678-1234-567812345678"),
    "an enum": Colour.RED,
    "a path": PurePosixPath("/tmp/x"),
    "a pydantic model": Invoice(
        number=7, amount=Decimal("10.50"), paid=dt.datetime(2024, 1, 1, tzinfo=dt.UTC)
    ),
    "a dataclass": Point(1, 2.5),
    "a list of models": [Invoice(number=1, amount=Decimal(1)), Point(0, -0.0)],
    "content blocks": [{"type": "text", "text": "hi"}, {"type": "image", "data": b"\x89PNG"}],
    "content and artifact": ("three rows", {"rows": [(1, "a"), (2, "b")], "raw": b"\x00" * 1000}),
}


@pytest.mark.parametrize("name", VALUES)
@pytest.mark.parametrize("form", ["sync", "async"])
def test_the_first_caller_gets_the_object_itself_and_a_replay_an_equal_one(
    restart: Restart, name: str, form: str
) -> None:
    value, ran = VALUES[name], []

    def plain() -> Any:
        ran.append(1)
        return value

    async def soon() -> Any:
        return plain()

    def registered(ax: AX) -> AX:
        for cls in (Invoice, Point, Colour):
            ax.allow(cls)
        ax.register(plain if form == "sync" else soon, name="give", policy={"effect": "unsafe"})
        return ax

    ax = registered(restart())
    assert ax.call("give", request_id="r") is value
    again = [ax.call("give", request_id="r"), asyncio.run(ax.acall("give", request_id="r"))]
    ax = registered(restart())
    again += [ax.call("give", request_id="r"), asyncio.run(ax.acall("give", request_id="r"))]
    task = ax.find_request("r")
    assert task is not None
    for other in [*again, task.result]:
        assert type(other) is type(value)
        assert other == value
        assert repr(other) == repr(value)  # -0.0, the inner types, the time zone
    assert task.replayed
    assert ran == [1]


def test_the_classes_of_a_tools_own_annotation_need_no_further_word(restart: Restart) -> None:
    def give(n: int) -> list[Invoice | Point]:
        return [Invoice(number=n, amount=Decimal("0.10")), Point(n, 1.5)]

    ax = restart()
    ax.register(give)
    first = ax.call("give", {"n": 3}, request_id="r")
    ax = restart()
    ax.register(give)
    assert ax.call("give", {"n": 3}, request_id="r") == first


def test_a_class_that_nobody_allowed_is_a_placeholder_and_not_run_again(restart: Restart) -> None:
    """Nothing is ever imported because a row names it."""
    ran: list[int] = []

    def give() -> Any:
        ran.append(1)
        return Point(1, 2.5)

    for _ in range(2):
        ax = restart()
        ax.register(give, policy={"effect": "unsafe"})
        answer = ax.call("give", request_id="r")
    assert isinstance(answer, Opaque)
    assert "Point" in answer.note
    assert ran == [1]


def test_what_cannot_be_stored_is_kept_as_a_placeholder_and_not_run_again(restart: Restart) -> None:
    """The live caller gets its object; a later one is told that it was done, and why there is nothing to hand out."""
    ran: list[int] = []

    def give() -> Any:
        ran.append(1)
        return {"handle": open(__file__), "rows": 3}

    ax = restart()
    ax.register(give, name="give", policy={"effect": "unsafe"})
    first = ax.call("give", request_id="r")
    assert first["handle"].name == __file__
    first["handle"].close()
    ax = restart()
    ax.register(give, name="give", policy={"effect": "unsafe"})
    placeholder = ax.call("give", request_id="r")
    assert isinstance(placeholder, Opaque)
    assert "TextIOWrapper" in placeholder.note
    assert ran == [1]


def test_not_a_number_in_a_result_does_not_lose_its_siblings(restart: Restart) -> None:
    value = {"ok": 1.0, "bad": math.nan, "up": math.inf, "down": -math.inf, "list": [math.nan, 2]}
    ax = restart()
    ax.register(lambda: value, name="give")
    assert ax.call("give", request_id="r") is value
    ax = restart()
    ax.register(lambda: value, name="give")
    again = ax.call("give", request_id="r")
    assert (again["ok"], again["up"], again["down"], again["list"][1]) == (1.0, math.inf, -math.inf, 2)
    assert math.isnan(again["bad"])
    assert math.isnan(again["list"][0])


async def test_several_calls_of_one_tool_in_a_turn_get_their_own_results(tmp_path: Path) -> None:
    async with AX(f"sqlite:///{tmp_path}/ax.db") as ax:

        async def search(q: int) -> dict[str, int]:
            await asyncio.sleep(0.001 * (3 - q % 3))
            return {"q": q}

        ax.register(search, name="search")
        calls = [ax.acall("search", {"q": q}, request_id=f"call-{q}") for q in range(9)]
        assert await asyncio.gather(*calls) == [{"q": q} for q in range(9)]
        again = [ax.acall("search", {"q": q}, request_id=f"call-{q}") for q in range(9)]
        assert await asyncio.gather(*again) == [{"q": q} for q in range(9)]


def test_a_result_changed_by_its_first_caller_does_not_change_the_record(restart: Restart) -> None:
    ax = restart()
    ax.register(lambda: {"rows": [1]}, name="give")
    first = ax.call("give", request_id="r")
    first["rows"].append(2)
    assert ax.call("give", request_id="r") == {"rows": [1]}


def test_a_generator_is_handed_on_untouched(restart: Restart) -> None:
    """To store it would be to use it up."""
    ax = restart()
    ax.register(lambda: (n for n in range(3)), name="give")
    assert list(ax.call("give", request_id="r")) == [0, 1, 2]
    assert isinstance(ax.call("give", request_id="r"), Opaque)


def test_a_result_that_fights_back_is_no_failure_of_the_tool(restart: Restart) -> None:
    class Hostile:
        def __repr__(self) -> str:
            raise RuntimeError("no repr")

        def __eq__(self, other: object) -> bool:
            raise RuntimeError("no eq")

        def __getattr__(self, name: str) -> Any:
            raise RuntimeError("no attributes")

        __hash__ = None  # type: ignore[assignment]

    hostile = Hostile()
    ax = restart()
    ax.register(lambda: [hostile], name="give")
    assert ax.call("give", request_id="r")[0] is hostile
    task = ax.find_request("r")
    assert task is not None
    assert task.state == "SUCCESS"


def test_a_failure_is_not_a_result(restart: Restart) -> None:
    """An exception that is returned is a value like any other; one that is raised is not."""
    error = ValueError("as a value")
    ax = restart()
    ax.register(lambda: error, name="give")
    assert ax.call("give", request_id="r") is error

    def raising() -> None:
        raise error

    ax.register(raising, name="raise")
    with pytest.raises(ToolFailed):
        ax.call("raise")
