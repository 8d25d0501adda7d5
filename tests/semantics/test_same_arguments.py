"""Which calls are the same call: spelling, defaults, types and whitespace."""

from __future__ import annotations

import datetime as dt
import enum
import pathlib
import uuid
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from ax_core import (
    AX,
    ConfirmationPending,
    Effect,
    InvalidArguments,
    NotAllowed,
    PolicyError,
)
from support.fresh import fresh
from support.probe import Probe

ANY = {"properties": {"value": {}}}


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


@dataclass
class Point:
    x: int


class Order(BaseModel):
    number: int


def taking(ax: AX, schema: dict[str, Any], **policy: Any) -> list[Any]:
    """An UNSAFE tool ``send``; the list of the arguments that it was entered with."""
    ran: list[Any] = []
    ax.register(
        lambda **args: ran.append(args),
        name="send",
        schema=schema,
        policy={"effect": Effect.UNSAFE, **policy},
    )
    return ran


def test_the_order_of_keys_and_the_spelling_of_json_make_no_other_call(ax: AX) -> None:
    ran = taking(ax, {"properties": {"a": {}, "b": {"type": "object"}, "c": {}}})
    with ax.run():
        for payload in (
            {"a": 5, "b": {"x": 1, "y": 2}, "c": "é"},
            {"c": "é", "b": {"y": 2, "x": 1}, "a": 5},
            '{ "b":{"y":2,\n"x":1.0}, "c":"\\u00e9", "a":5e0 }',
        ):
            ax.call("send", payload)
    assert len(ran) == 1
    assert len(ax.tasks().tasks) == 1


@pytest.mark.parametrize(
    ("one", "other"),
    [([1, 2], [2, 1]), (1, True), (1, "1"), (0.1 + 0.2, 0.3), ("10", "10.0"), ("é", "e\u0301"), (None, "")],
    ids=repr,
)
def test_what_differs_as_json_is_another_call(ax: AX, one: Any, other: Any) -> None:
    ran = taking(ax, ANY)
    with ax.run():
        for value in (one, other, one, other):
            ax.call("send", {"value": value})
    assert len(ran) == 2


def test_whitespace_is_content_and_the_tool_gets_it_unaltered(ax: AX) -> None:
    texts = ["Hi  there", "Hi\nthere", "Hi there", "Hi there "]
    ran = taking(ax, {"properties": {"value": {"type": "string"}}})
    with ax.run():
        for text in texts * 2:
            ax.call("send", {"value": text})
    assert [args["value"] for args in ran] == texts


ORDER = {"properties": {"order": {"type": "string"}, "amount": {}}}
RULES = {"amount": "decimal", "order": ("whitespace", "casefold")}


def test_a_key_that_declares_it_knows_an_amount_in_any_spelling(ax: AX) -> None:
    """And the tool gets what was given first, as it was given."""
    ran = taking(ax, ORDER, key=("order", "amount"), normalise=RULES)
    with ax.run():
        for order, amount in (("A  1", "10.00"), ("a 1", 10), ("A 1 ", "1e1"), (" a 1", 10.0)):
            ax.call("send", {"order": order, "amount": amount})
        ax.call("send", {"order": "A 1", "amount": "10.01"})
    assert ran == [{"order": "A  1", "amount": "10.00"}, {"order": "A 1", "amount": "10.01"}]


def test_a_value_that_a_rule_cannot_read_is_quarantined_and_named(ax: AX) -> None:
    ran = taking(ax, ORDER, key=("order", "amount"), normalise=RULES)
    with ax.run(), pytest.raises(InvalidArguments, match=r"amount: .*no decimal number") as told:
        ax.call("send", {"order": "1", "amount": "ten"})
    assert ran == []
    assert told.value.task_id is not None
    assert ax.get(told.value.task_id).reason == "invalid_args"


@pytest.mark.parametrize(
    ("normalise", "why"),
    [
        ({"sum": "decimal"}, "'sum', which is not in key"),
        ({"amount": "decimals"}, "did you mean 'decimal'"),
        ({"amount": ("text", "round")}, "'round' is unknown"),
        ("decimal", "must map arguments"),
    ],
)
def test_a_rule_that_means_nothing_is_refused_at_registration(ax: AX, normalise: Any, why: str) -> None:
    with pytest.raises(PolicyError, match=why):
        taking(ax, ORDER, key=("amount",), normalise=normalise)


def test_an_approver_who_never_registered_the_tool_compares_by_its_rules_too(tmp_path: Path) -> None:
    """Edited arguments are the intent they are now, however their amount is spelt."""
    with fresh(path=tmp_path / "ax.db") as ax, fresh(path=tmp_path / "ax.db") as console:
        taking(ax, ORDER, key=("order", "amount"), normalise=RULES, confirm=True)
        asked = []
        with ax.run():
            for amount in ("5", "7"):
                with pytest.raises(ConfirmationPending) as pending:
                    ax.call("send", {"order": "1", "amount": amount})
                asked.append(pending.value.task_id)
            with pytest.raises(NotAllowed, match="an equal call of the edited arguments is already there"):
                console.confirm(asked[1], by="ann", payload={"order": "1", "amount": "5.0"})
            with pytest.raises(InvalidArguments, match="no decimal number"):
                console.confirm(asked[0], by="ann", payload={"order": "1", "amount": "much"})


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"a", "b"}, {"a", "c"}),
        (b"one", b"two"),
        (dt.datetime(2026, 3, 1), dt.datetime(2026, 3, 1, tzinfo=dt.UTC)),
        (uuid.UUID(int=1), uuid.UUID(int=2)),
        (Colour.RED, Colour.BLUE),
        (Point(1), Point(2)),
        (Order(number=1), Order(number=2)),
        (Decimal("1.1"), Decimal("1.2")),
        (pathlib.Path("a"), pathlib.Path("b")),
    ],
    ids=lambda value: type(value).__name__,
)
def test_two_values_of_a_type_that_json_lacks_are_two_calls_and_equal_ones_are_one(
    ax: AX, one: Any, other: Any
) -> None:
    """Nothing falls into one bucket with whatever else could not be written down."""
    ran = taking(ax, ANY)
    with ax.run():
        for value in (one, other, one, other):
            ax.call("send", {"value": value})
    assert len(ran) == 2


def mailing(default: str, **policy: Any) -> Any:
    def register(ax: AX) -> list[str]:
        ran: list[str] = []

        def send(to: str, cc: list[str] = [], priority: str = default) -> None:  # noqa: B006
            ran.append(priority)

        ax.register(send, policy={"effect": Effect.UNSAFE, **policy})
        return ran

    return register


def test_a_default_left_out_is_the_same_call_and_a_new_default_makes_it_another(tmp_path: Path) -> None:
    path = tmp_path / "ax.db"
    with fresh(path=path) as ax:
        ran = mailing("normal")(ax)
        with ax.run(session="s", key="turn"):
            for more in ({}, {"cc": []}, {"priority": "normal"}, {"cc": [], "priority": "normal"}):
                ax.call("send", {"to": "a", **more}, dedupe="session")
        assert ran == ["normal"]
    with fresh(path=path) as ax:
        ran = mailing("high")(ax)
        with ax.run(session="s", key="turn2"):
            ax.call("send", {"to": "a", "priority": "normal"}, dedupe="session")
            assert ran == []
            ax.call("send", {"to": "a"}, dedupe="session")
        assert ran == ["high"]


def test_a_request_from_before_a_new_default_is_still_answered_from_the_record(tmp_path: Path) -> None:
    path = tmp_path / "ax.db"
    for default, entered in (("normal", ["normal"]), ("high", [])):
        with fresh(path=path) as ax:
            ran = mailing(default)(ax)
            ax.call("send", {"to": "a"}, request_id="r")
            assert ran == entered


@pytest.mark.parametrize("length", [254, 255])
def test_long_keys_that_differ_in_their_last_letter_are_two_keys(ax: AX, length: int) -> None:
    probe = Probe()
    probe.tool(ax)
    for last in "ab":
        ax.call("pay", key="k" * (length - 1) + last)
    assert probe.count == 2
    with pytest.raises(PolicyError, match="key"):
        ax.call("pay", key="k" * 256)
    assert probe.count == 2
