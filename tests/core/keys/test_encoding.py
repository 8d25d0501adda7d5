"""Python values as JSON values: every supported type has its own stable text, every other is refused."""

from __future__ import annotations

import dataclasses
import datetime as dt
import enum
import io
import pathlib
import types
import uuid
from collections import OrderedDict, namedtuple
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, Field, SecretStr

from ax_core.keys import NotCanonical, args_hash, canonical, plain

NOON = dt.datetime(2026, 3, 1, 12, 0)
BERLIN = ZoneInfo("Europe/Berlin")


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


@dataclasses.dataclass
class Point:
    x: int
    tags: set[str]


class Order(BaseModel):
    number: int = Field(alias="orderNo")
    labels: set[str] = set()
    at: dt.datetime | None = None


class Line(BaseModel):
    sku: int = Field(alias="skuNo")
    price: Decimal = Decimal("1.50")


class Secret(BaseModel):
    token: SecretStr


Pair = namedtuple("Pair", "a b")

PAIRS: list[tuple[Any, Any]] = [
    ({"a", "b"}, {"a", "c"}),
    (frozenset({1}), frozenset({2})),
    (b"one", b"two"),
    (bytearray(b"one"), bytearray(b"two")),
    (NOON, NOON.replace(second=1)),
    (NOON, NOON.replace(tzinfo=dt.UTC)),
    (NOON.replace(tzinfo=dt.UTC), NOON.replace(tzinfo=BERLIN)),
    (NOON.date(), dt.date(2026, 3, 2)),
    (dt.time(1), dt.time(1, tzinfo=dt.UTC)),
    (dt.timedelta(seconds=1), dt.timedelta(seconds=-1)),
    (dt.timedelta(microseconds=1), dt.timedelta(microseconds=10)),
    (uuid.UUID(int=1), uuid.UUID(int=2)),
    (Colour.RED, Colour.BLUE),
    (Level.LOW, Level.HIGH),
    (Decimal("1.1"), Decimal("1.2")),
    (Decimal("1e400"), Decimal("1e401")),
    (Point(1, set()), Point(2, set())),
    (Point(1, {"a"}), Point(1, {"b"})),
    (Order(orderNo=1), Order(orderNo=2)),
    (Order(orderNo=1, labels={"a", "b"}), Order(orderNo=1, labels={"a"})),
    (pathlib.Path("a/b"), pathlib.Path("a/c")),
    (Pair(1, 2), Pair(2, 1)),
    (OrderedDict(a=1), OrderedDict(a=2)),
    (types.MappingProxyType({"a": 1}), types.MappingProxyType({"a": 2})),
]


@pytest.mark.parametrize("one, other", PAIRS, ids=lambda value: type(value).__name__)
def test_two_values_of_a_supported_type_have_stable_and_distinct_forms(one: Any, other: Any) -> None:
    assert args_hash({"v": one}) == args_hash({"v": one})
    assert args_hash({"v": one}) != args_hash({"v": other})
    assert canonical(plain(one))


@pytest.mark.parametrize(
    "value",
    [
        (n for n in range(3)),
        io.StringIO("x"),
        object(),
        lambda: None,
        Colour,
        Secret(token="k"),
        SecretStr("k"),
        complex(1, 2),
        Decimal("NaN"),
        Decimal("Infinity"),
        float("nan"),
        [{"deep": {float("inf")}}],
        {"a": {1: "x"}},
        dt.time(1, tzinfo=BERLIN),
        iter([]),
        Exception("x"),
        pytest,
    ],
    ids=lambda value: type(value).__name__,
)
def test_an_unsupported_type_is_refused_and_never_its_repr(value: Any) -> None:
    with pytest.raises(NotCanonical):
        plain({"v": value})


def test_the_refusal_names_the_place_and_the_type() -> None:
    with pytest.raises(NotCanonical, match=r"^args\.a\[1\]\.b: a value of type object has no stable text"):
        plain({"a": [0, {"b": object()}]}, "args")


def test_plain_json_is_returned_as_the_same_object() -> None:
    value = {"a": [1, 1.5, None, True, "x", {"b": []}]}
    assert plain(value) is value


def test_containers_become_json_containers() -> None:
    assert plain((1, (2, Pair(3, 4)))) == [1, [2, [3, 4]]]
    assert plain({3, 1, 2}) == [1, 2, 3]
    assert plain({"a": {"b", "a"}}) == {"a": ["a", "b"]}
    assert plain(Point(1, {"a"})) == {"x": 1, "tags": ["a"]}
    assert plain(Level.HIGH) == 2
    assert type(plain(Level.HIGH)) is int


def test_a_decimal_is_compared_by_value_and_keeps_every_digit() -> None:
    same = ["10", "10.0", "1e1", "10.00", "010"]
    assert {plain(Decimal(text)) for text in same} == {"10"}
    assert plain(Decimal("-0.0")) == "0"
    assert plain(Decimal("100000000000000000.1")) != plain(Decimal("100000000000000000.2"))
    assert plain(Decimal("1." + "0" * 60 + "1")) == "1." + "0" * 60 + "1"
    assert plain(Decimal("1e1000000")) == "1E+1000000"


def test_a_model_counts_by_its_aliases_as_its_json_and_its_sets_are_ordered() -> None:
    order = Order(orderNo=1, labels={"c", "a", "b"}, at=NOON.replace(tzinfo=dt.UTC))
    assert plain(order) == {"orderNo": 1, "labels": ["a", "b", "c"], "at": "2026-03-01T12:00:00Z"}
    assert plain({"lines": [Line(skuNo=9)]}) == {"lines": [{"skuNo": 9, "price": "1.50"}]}
    assert plain(Order(orderNo=1)) == {"orderNo": 1, "labels": [], "at": None}


@settings(deadline=None)
@given(st.datetimes(timezones=st.none() | st.timezones()))
def test_a_datetime_reads_back_as_the_same_instant(value: dt.datetime) -> None:
    assert dt.datetime.fromisoformat(plain(value)).utcoffset() == value.utcoffset()
    assert dt.datetime.fromisoformat(plain(value)).replace(tzinfo=None) == value.replace(tzinfo=None)


@settings(deadline=None)
@given(st.timedeltas())
def test_a_timedelta_reads_back_exactly(value: dt.timedelta) -> None:
    from pydantic import TypeAdapter

    assert TypeAdapter(dt.timedelta).validate_python(plain(value)) == value


def test_numpy_scalars_are_their_python_values_and_arrays_are_refused() -> None:
    numpy = pytest.importorskip("numpy")
    assert plain([numpy.int64(7), numpy.float64(1.5), numpy.bool_(True), numpy.str_("x")]) == [
        7,
        1.5,
        True,
        "x",
    ]
    assert args_hash({"v": numpy.int64(7)}) == args_hash({"v": 7}) != args_hash({"v": numpy.int64(8)})
    for value in (
        numpy.array([1]),
        numpy.datetime64("2026-03-01"),
        numpy.float64("nan"),
        numpy.longdouble(1),
    ):
        with pytest.raises(NotCanonical):
            plain(value)


def test_a_numpy_scalar_is_known_by_its_module_and_shape_alone() -> None:
    scalar = type("int64", (), {"__module__": "numpy", "shape": (), "dtype": None, "item": lambda self: 7})
    assert plain(scalar()) == 7
