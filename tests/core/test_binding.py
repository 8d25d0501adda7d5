"""Binding: arguments become what the annotations ask for, for every kind of callable."""

from __future__ import annotations

import datetime as dt
import enum
import functools
import subprocess
import sys
import timeit
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Annotated, Any, Literal

import annotated_types
import pytest
from pydantic import AfterValidator, Field

from ax_core.errors import InvalidArguments
from ax_core.registry.signature import bind, description_of, schema_of
from support.annotated import Address, Item, Options, OrderId, Tree, properties

if TYPE_CHECKING:
    pass


class Colour(enum.Enum):
    RED = "red"


class Live:
    """No JSON form."""


def live(a: int, b: Live) -> None: ...


class Shop:
    """A shop."""

    def refund(self, item: Item) -> None:
        """Refund it."""

    @classmethod
    def open(cls, item: Item) -> None: ...

    @staticmethod
    def close(item: Item) -> None: ...

    def __call__(self, item: Item) -> None: ...


def wrapped(fn: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(fn)
    def inner(*args: Any, **kwargs: Any) -> Any:
        return fn(*args, **kwargs)

    return inner


async def buy(item: Item) -> None:
    """Buy it."""


@functools.lru_cache
def cached(item: Item) -> None:
    """Cached."""


@dataclass
class Command:
    """Command it."""

    item: Item


CALLABLES: dict[str, tuple[Any, str]] = {
    "method": (Shop().refund, "Refund it."),
    "classmethod": (Shop.open, ""),
    "staticmethod": (Shop.close, ""),
    "callable object": (Shop(), "A shop."),
    "async": (buy, "Buy it."),
    "wrapped": (wrapped(wrapped(buy)), "Buy it."),
    "partial": (functools.partial(buy), "Buy it."),
    "partial of a method": (functools.partial(Shop().refund), "Refund it."),
    "cached": (cached, "Cached."),
    "class": (Command, "Command it."),
}


@pytest.mark.parametrize("fn, text", CALLABLES.values(), ids=CALLABLES)
def test_every_kind_of_callable_is_read_alike(fn: Any, text: str) -> None:
    assert list(properties(fn)) == ["item"]
    assert schema_of(fn)["required"] == ["item"]
    assert description_of(fn) == text
    assert bind(fn)({"item": {"sku": "a"}}) == {"item": Item(sku="a")}


def test_arguments_become_the_objects_the_annotations_ask_for() -> None:
    def fn(
        item: Item,
        items: list[Item],
        address: Address,
        colour: Colour,
        when: dt.datetime,
        amount: Decimal,
        id: uuid.UUID,
        tags: set[str],
        options: Options,
        louder: Annotated[str, AfterValidator(str.upper)],
        tree: Tree | None = None,
        pair: tuple[int, float] = (1, 2.0),
    ) -> None: ...

    made = bind(fn)(
        {
            "item": {"sku": "a"},
            "items": [{"sku": "b", "quantity": 2}],
            "address": {"street": "s"},
            "colour": "red",
            "when": "2026-01-02T03:04:05+00:00",
            "amount": "1.10",
            "id": str(uuid.UUID(int=1)),
            "tags": ["x"],
            "options": {"fast": True},
            "louder": "abc",
            "tree": {"value": 1, "children": [{"value": 2}]},
            "pair": [3, 4],
        }
    )
    assert made == {
        "item": Item(sku="a"),
        "items": [Item(sku="b", quantity=2)],
        "address": Address("s"),
        "colour": Colour.RED,
        "when": dt.datetime(2026, 1, 2, 3, 4, 5, tzinfo=dt.UTC),
        "amount": Decimal("1.10"),
        "id": uuid.UUID(int=1),
        "tags": {"x"},
        "options": {"fast": True},
        "louder": "ABC",
        "tree": Tree(value=1, children=[Tree(value=2)]),
        "pair": (3, 4.0),
    }


def test_binding_is_strict_and_names_the_field_but_not_the_value() -> None:
    def fn(items: list[Item]) -> None: ...

    with pytest.raises(InvalidArguments, match=r"fn: items\.0\.quantity") as caught:
        bind(fn)({"items": [{"sku": "sk-secret", "quantity": "50"}]})
    assert "50" not in str(caught.value)
    assert caught.value.__cause__ is None


def test_a_string_that_looks_like_json_stays_a_string() -> None:
    def fn(note: str, notes: list[str], anything: Any, item: Item) -> None: ...

    args = {"note": "12345", "notes": ["null", '{"a":1}'], "anything": "true", "item": {"sku": "007"}}
    assert bind(fn)(args) == {**args, "item": Item(sku="007")}


def test_an_omitted_argument_stays_omitted() -> None:
    def fn(item: Item | None = None, n: int = 1, when: dt.date | None = None) -> None: ...

    assert bind(fn)({}) == {}


def test_plain_arguments_are_handed_on_as_they_are() -> None:
    def fn(
        a: str,
        b: Annotated[int, Field(ge=1, description="b")],
        c: float | None,
        d: dict[str, Any],
        e: list[str] | None,
        f: Annotated[str, annotated_types.MinLen(1)],
        g: OrderId,
        h: Literal["x"],
        i: Any,
        j: int | str,
    ) -> None: ...

    args = {
        "a": "x",
        "b": 1,
        "c": 1.5,
        "d": {"k": [1]},
        "e": ["y"],
        "f": "z",
        "g": "o",
        "h": "x",
        "i": {},
        "j": 2,
    }
    assert bind(fn)(args) is args


@pytest.mark.parametrize(
    "annotation, given, wanted",
    [
        (float, 10, 10.0),
        (float | None, 10, 10.0),
        (int, 10.0, 10),
        (int, 10.5, 10.5),
        (float, 2**63 + 1, 2**63 + 1),
        (float, 10**400, 10**400),
        (int, 9007199254740993, 9007199254740993),
        (int | str, 10, 10),
        (list[float], [10], [10.0]),
        (float | None, None, None),
    ],
)
def test_a_number_arrives_as_the_kind_asked_for_where_nothing_is_lost(
    annotation: Any, given: Any, wanted: Any
) -> None:
    def fn(n: Any) -> None: ...

    fn.__annotations__["n"] = annotation
    args = {"n": given}
    made = bind(fn)(args)["n"]
    assert repr(made) == repr(wanted)
    assert args == {"n": given}


def test_a_check_json_schema_cannot_say_is_made_while_binding() -> None:
    def fn(n: Annotated[int, annotated_types.Predicate(lambda n: n % 2 == 0)]) -> None: ...

    assert bind(fn)({"n": 2}) == {"n": 2}
    with pytest.raises(InvalidArguments):
        bind(fn)({"n": 3})


def test_a_type_pydantic_cannot_make_gets_the_json_value() -> None:
    assert bind(live)({"a": 1, "b": {"x": 1}}) == {"a": 1, "b": {"x": 1}}


@pytest.mark.bench
def test_plain_binding_costs_less_than_a_microsecond() -> None:
    def fn(order_id: str, amount: float, note: str | None = None) -> None: ...

    binder, args = bind(fn), {"order_id": "7", "amount": 10.5, "note": "x"}
    assert min(timeit.repeat(lambda: binder(args), number=2_000, repeat=50)) / 2_000 < 1e-6


def test_pydantic_is_not_imported_before_a_signature_is_read() -> None:
    code = "import sys, ax_core.registry.signature, ax_core.codec; print('pydantic' in sys.modules)"
    env = {"PYTHONPATH": ":".join(sys.path)}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
