"""What is stored comes back equal, in type and in value."""

from __future__ import annotations

import datetime as dt
import enum
import json
import math
import uuid
from collections import defaultdict, deque, namedtuple
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

import pydantic
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ax_core.codec import Codec
from support.codec_texts import stored


class Colour(enum.Enum):
    RED = "red"
    BLUE = 2


class Rights(enum.Flag):
    READ = 1
    WRITE = 2


class Point(NamedTuple):
    x: int
    y: Any


@dataclass(frozen=True, slots=True)
class Line:
    order_id: str
    amount: Decimal
    colour: Colour = Colour.RED


class Order(pydantic.BaseModel):
    id: uuid.UUID
    lines: list[Line] = []
    due: dt.datetime | None = None
    anything: Any = None


def same(left: Any, right: Any) -> bool:
    """Equal in type and value all the way down; NaN is NaN and -0.0 is not 0.0."""
    if type(left) is not type(right):
        return False
    if isinstance(left, float):
        return (math.isnan(left) and math.isnan(right)) or (
            left == right and math.copysign(1, left) == math.copysign(1, right)
        )
    if isinstance(left, complex):
        return same(left.real, right.real) and same(left.imag, right.imag)
    if isinstance(left, dict):
        return len(left) == len(right) and all(
            same(a, b) for a, b in zip(left.items(), right.items(), strict=True)
        )
    if isinstance(left, (list, tuple, deque)):
        return len(left) == len(right) and all(same(a, b) for a, b in zip(left, right, strict=True))
    if isinstance(left, pydantic.BaseModel):
        return left.model_fields_set == right.model_fields_set and same(vars(left), vars(right))
    if isinstance(left, Decimal):
        return str(left) == str(right)
    if isinstance(left, (dt.datetime, dt.time)):
        return left == right and left.isoformat() == right.isoformat() and left.fold == right.fold
    return bool(left == right)


def codec_of_this_module() -> Codec:
    codec = Codec()
    for cls in (Colour, Rights, Point, Line, Order):
        codec.allow(cls)
    return codec


any_text = st.text(st.characters(exclude_categories=())) | st.sampled_from(
    ["$ax", "\0", "\ud83d\ude00", "\\u0000", "😀", "退款", "\u2028"]
)
zones = st.none() | st.just(dt.UTC) | st.just(ZoneInfo("Europe/Berlin")) | st.timezones()
hashable = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=False),
    any_text,
    st.binary(),
    st.decimals(allow_nan=False),
    st.fractions(),
    st.uuids(),
    st.dates(),
    st.datetimes(timezones=zones, allow_imaginary=False),
    st.times(),
    st.timedeltas(),
    st.sampled_from(Colour),
    st.sampled_from([Rights.READ, Rights.READ | Rights.WRITE, Rights(0)]),
    any_text.map(lambda t: Line(t, Decimal("1.10"))),
    st.sampled_from([Path("a/b"), PureWindowsPath("c:/x"), PurePosixPath("/y")]),
)
leaves = hashable | st.floats() | st.complex_numbers() | st.just(Decimal("sNaN"))
values = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.lists(inner, max_size=4).map(tuple),
        st.sets(hashable, max_size=4),
        st.frozensets(hashable, max_size=4),
        st.dictionaries(any_text, inner, max_size=4),
        st.dictionaries(hashable | st.tuples(hashable, hashable), inner, max_size=4),
        st.lists(inner, max_size=3).map(lambda items: deque(items, 5)),
        st.tuples(st.integers(), inner).map(lambda pair: Point(*pair)),
        st.tuples(st.uuids(), inner).map(lambda pair: Order(id=pair[0], anything=pair[1])),
    ),
    max_leaves=20,
)


@settings(max_examples=400, deadline=None)
@given(values)
@example({"$ax": "tuple", "v": [1]})
@example({"a": {"$ax": {"$ax": 1}}, "\0": "\0"})
@example({1: "a", "1": "b", None: "d", 1.5: "e", (1, "1"): "f"})
@example([10**400, -(10**400), 2**63, -(2**63), 9007199254740993])
@example([0.0, -0.0, math.nan, math.inf, -math.inf])
@example("\ud83d\ude00 is two characters and 😀 is one")
@example(Decimal("-0E+3"))
@example(dt.datetime(2026, 10, 25, 2, 30, tzinfo=ZoneInfo("Europe/Berlin"), fold=1))
def test_a_stored_value_comes_back_equal_in_type_and_value(value: Any) -> None:
    codec = codec_of_this_module()
    text = stored(codec, value)
    assert same(codec.decode(text), value)
    assert stored(codec, codec.decode(text)) == text


@settings(max_examples=200, deadline=None)
@given(st.lists(any_text, max_size=5))
def test_every_text_is_stored_without_nul_or_lone_surrogates_and_restored_exactly(items: list[str]) -> None:
    codec = Codec()
    assert codec.decode(stored(codec, items)) == items
    assert codec.decode(stored(codec, dict.fromkeys(items, "x"))) == dict.fromkeys(items, "x")


@pytest.mark.parametrize("text", ["\0%0041", "%0000\0", "\ud800%", "%", "100%0041", "\\u0000\0", '\0"\\'])
def test_text_that_looks_like_our_own_escapes_is_restored_exactly(text: str) -> None:
    codec = Codec()
    assert codec.decode(stored(codec, {text: [text]})) == {text: [text]}


@pytest.mark.parametrize(
    "n", [2**63, -(2**63) - 1, 10**5_000, -(10**5_000)], ids=lambda n: str(n.bit_length())
)
def test_an_integer_of_any_length_is_exact_to_the_last_digit(n: int) -> None:
    codec = Codec()
    assert codec.decode(stored(codec, [n, n + 1])) == [n, n + 1]
    assert json.loads(codec.encode(n).text)["$ax"] == "int"


def test_plain_json_stands_as_it_is() -> None:
    value = {"order_id": "7", "n": 1, "x": 1.5, "ok": True, "none": None, "list": [1, "a"]}
    assert json.loads(Codec().encode(value).text) == value


def test_nan_is_stored_with_a_marker_and_its_siblings_stay_intact() -> None:
    codec = Codec()
    text = stored(codec, {"ok": 1.0, "bad": math.nan, "inf": math.inf})
    assert json.loads(text)["bad"] == {"$ax": "float", "v": "nan"}
    back = codec.decode(text)
    assert (back["ok"], back["inf"]) == (1.0, math.inf)
    assert math.isnan(back["bad"])


def test_every_decode_is_a_fresh_copy() -> None:
    codec = Codec()
    text = stored(codec, {"items": [1, {"a": (1,)}]})
    first = codec.decode(text)
    first["items"][1]["a"] = "changed"
    assert codec.decode(text) == {"items": [1, {"a": (1,)}]}


def test_the_same_set_is_the_same_text_in_every_order() -> None:
    codec = Codec()
    names = [f"name-{n}" for n in range(50)]
    assert json.loads(codec.encode(set(names)).text)["v"] == sorted(names)


PAIRS = [
    ({1}, {2}),
    (b"a", b"b"),
    (dt.datetime(2026, 1, 1), dt.datetime(2026, 1, 1, tzinfo=dt.UTC)),
    (uuid.UUID(int=1), uuid.UUID(int=2)),
    (Colour.RED, Colour.BLUE),
    (Line("a", Decimal(1)), Line("b", Decimal(1))),
    (Order(id=uuid.UUID(int=1)), Order(id=uuid.UUID(int=2))),
    (Path("a"), Path("b")),
    (Decimal("1.1"), Decimal("1.10")),
    (True, 1),
    ((1,), [1]),
    ("1", 1),
    ({1: "a"}, {"1": "a"}),
]


@pytest.mark.parametrize("left, right", PAIRS, ids=lambda v: type(v).__name__)
def test_two_different_values_never_share_a_text(left: Any, right: Any) -> None:
    codec = codec_of_this_module()
    assert stored(codec, left) != stored(codec, right)
    assert stored(codec, left) == stored(codec, left)


class Plain(str):
    pass


class Mood(enum.StrEnum):
    GOOD = "good"


class Level(enum.IntEnum):
    HIGH = 3


class Stamp(dt.datetime):
    pass


Pair = namedtuple("Pair", "a b")


@pytest.mark.parametrize(
    "value, base",
    [
        (Plain("x"), str),
        (Mood.GOOD, str),
        (Level.HIGH, int),
        (defaultdict(list, a=[1]), dict),
        (Pair(1, 2), tuple),
        (Stamp(2026, 1, 1, tzinfo=dt.UTC), dt.datetime),
    ],
)
def test_an_unregistered_subclass_is_kept_as_its_equal_base_and_a_note_says_so(
    value: Any, base: type
) -> None:
    codec = Codec()
    encoded = codec.encode({"v": value})
    assert not encoded.opaque
    assert f"kept as {base.__name__}" in (encoded.note or "")
    back = codec.decode(encoded.text)["v"]
    assert type(back) is base
    assert back == value


class Twisted(str):
    def __eq__(self, other: object) -> bool:
        return False

    def __ne__(self, other: object) -> bool:
        return True

    __hash__ = str.__hash__


def test_a_subclass_that_is_not_equal_to_its_base_is_not_passed_off_as_it() -> None:
    assert Codec().encode(Twisted("x")).opaque
