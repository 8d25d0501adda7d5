"""What is stored comes back equal, in type and in value."""

from __future__ import annotations

import datetime as dt
import enum
import json
import math
import uuid
from collections import defaultdict, deque, namedtuple
from dataclasses import InitVar, dataclass, field
from decimal import Decimal
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

import pydantic
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ax_core.codec import Codec, Opaque, TypeCodec

NEVER_STORED = ("\0", *map(chr, (0xD800, 0xDFFF)))


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


class Tree(pydantic.BaseModel):
    value: int
    children: list[Tree] = []


@dataclass
class Chain:
    value: int
    next: Chain | None = None


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


def stored(codec: Codec, value: Any) -> str:
    """The text of a value that must be kept, and whose text every database must take."""
    encoded = codec.encode(value)
    assert not encoded.opaque, encoded
    assert encoded.text.isascii()
    json.loads(encoded.text, parse_constant=pytest.fail)
    assert not any(odd in text for text in texts(json.loads(encoded.text)) for odd in NEVER_STORED)
    return encoded.text


def texts(node: Any) -> list[str]:
    if isinstance(node, str):
        return [node]
    if isinstance(node, list):
        return [t for item in node for t in texts(item)]
    if isinstance(node, dict):
        return [t for pair in node.items() for part in pair for t in texts(part)]
    return []


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


# --- classes on the allow-list


class Private(pydantic.BaseModel):
    name: str = pydantic.Field(alias="theName")
    secret: str = pydantic.Field(default="", exclude=True)
    _count: int = 0
    _live: Any = pydantic.PrivateAttr(default_factory=object)

    @pydantic.field_validator("name")
    @classmethod
    def louder(cls, value: str) -> str:
        return value + "!"


class Open(pydantic.BaseModel, extra="allow"):
    a: int = 0


class Root(pydantic.RootModel[list[int]]):
    pass


def test_a_model_is_restored_without_running_its_validators_again() -> None:
    codec = Codec()
    codec.allow(Private)
    value = Private(theName="x", secret="s")
    value._count = 7
    encoded = codec.encode(value)
    assert "secret" not in json.loads(encoded.text)["v"]["fields"]
    back = codec.decode(encoded.text)
    assert (back.name, back.secret, back._count, back.model_fields_set) == ("x!", "", 7, {"name"})
    assert back._live is not None
    assert "private _live left to its default" in (encoded.note or "")


@pytest.mark.parametrize("value", [Open(a=1, more=(1, 2)), Open(), Root([1, 2])], ids=repr)
def test_a_model_keeps_its_extras_its_root_and_which_fields_were_given(value: Any) -> None:
    codec = Codec()
    codec.allow(type(value))
    back = codec.decode(stored(codec, value))
    assert back == value
    assert type(back) is type(value)
    assert back.model_fields_set == value.model_fields_set


@dataclass
class Doubled:
    amount: int
    seed: InitVar[int] = 0
    log: list[str] = field(default_factory=list, init=False)

    def __post_init__(self, seed: int) -> None:
        self.amount *= 2
        self.log.append("made")
        self.cache = object()


@dataclass
class NeedsSeed:
    amount: int
    seed: InitVar[int]

    def __post_init__(self, seed: int) -> None:
        self.amount += seed


def test_a_dataclass_comes_back_as_it_was_and_not_processed_twice() -> None:
    codec = Codec()
    codec.allow(Doubled)
    codec.allow(NeedsSeed)
    back = codec.decode(stored(codec, [Doubled(2), NeedsSeed(1, 2)]))
    assert back == [Doubled(2), NeedsSeed(1, 2)]
    assert (back[0].amount, back[0].log, back[1].amount) == (4, ["made"], 3)
    assert hasattr(back[0], "cache")


def test_allowing_a_class_allows_what_its_fields_are_made_of() -> None:
    codec = Codec()
    codec.allow_annotation(list[Order] | None)
    value = [Order(id=uuid.UUID(int=1), lines=[Line("a", Decimal(1), Colour.BLUE)])]
    assert codec.decode(stored(codec, value)) == value


@pytest.mark.timeout(20)
def test_a_class_whose_fields_hold_its_own_kind_is_allowed_and_kept() -> None:
    codec = Codec()
    codec.allow(Tree)
    codec.allow(Chain)
    value = [Tree(value=1, children=[Tree(value=2)]), Chain(1, Chain(2))]
    assert codec.decode(stored(codec, value)) == value


def test_a_class_outside_the_allow_list_is_not_stored_as_itself() -> None:
    encoded = Codec().encode({"items": [Order(id=uuid.UUID(int=1))]})
    assert encoded.opaque
    assert encoded.note == f"$.items[0]: {__name__}.Order"
    assert str(uuid.UUID(int=1)) not in encoded.text


def test_an_allowed_base_does_not_let_a_subclass_lose_its_fields() -> None:
    class Bigger(Order):
        more: int = 1

    codec = Codec()
    codec.allow(Order)
    assert codec.encode(Bigger(id=uuid.UUID(int=1))).opaque


def test_a_class_that_was_defined_again_is_read_into_its_newest_form() -> None:
    def define() -> type:
        @dataclass
        class Cell:
            a: int

        return Cell

    old, new = define(), define()
    codec = Codec()
    codec.allow(old)
    text = stored(codec, old(1))
    codec.allow(new)
    assert codec.decode(text) == new(1)
    assert codec.decode(stored(codec, old(2))) == new(2)


def test_allow_is_a_decorator_and_refuses_a_class_it_cannot_take_apart() -> None:
    codec = Codec()

    @codec.allow
    @dataclass
    class Local:
        a: int = 1

    assert codec.decode(stored(codec, Local())) == Local()

    @dataclass
    class Hidden(dict):
        a: int = 1

    for cls in (int, object, Hidden):
        with pytest.raises(TypeError, match="TypeCodec"):
            codec.allow(cls)


# --- registered types


class Money:
    def __init__(self, amount: Decimal, currency: str) -> None:
        self.amount, self.currency = amount, currency

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Money) and vars(self) == vars(other)

    __hash__ = None


class Cash(Money):
    pass


MONEY = TypeCodec("myapp.money", Money, lambda m: (m.amount, m.currency), lambda d: Money(*d))


def test_a_registered_type_and_its_subclasses_go_through_their_codec() -> None:
    codec = Codec(types=(MONEY,))
    value = {"total": Money(Decimal("1.10"), "EUR"), "cash": [Cash(Decimal(2), "\0")]}
    assert codec.decode(stored(codec, value)) == value


def test_a_codec_defined_again_takes_the_place_of_the_first() -> None:
    codec = Codec(types=(MONEY,))
    codec.register(
        TypeCodec("myapp.money", Money, lambda m: str(m.amount), lambda d: Money(Decimal(d), "USD"))
    )
    assert codec.decode(stored(codec, Money(Decimal(1), "EUR"))) == Money(Decimal(1), "USD")


@pytest.mark.parametrize("tag", ["tuple", "dataclass", "opaque", "myapp.money"])
def test_a_tag_that_is_taken_is_refused(tag: str) -> None:
    codec = Codec(types=(MONEY,))
    with pytest.raises(ValueError, match="taken"):
        codec.register(TypeCodec(tag, complex, str, complex))


def test_numpy_scalars_are_kept_as_the_number_they_are() -> None:
    class Int64:
        ndim = 0

        class dtype:
            kind = "i"

        def item(self) -> int:
            return 7

    Int64.__module__ = "numpy"
    encoded = Codec().encode([Int64()])
    assert Codec().decode(encoded.text) == [7]
    assert "Int64 kept as int" in (encoded.note or "")


def test_a_part_that_is_too_large_can_be_left_out_to_keep_the_rest() -> None:
    codec = Codec()
    value = ("the content", Opaque("artifact: 2000000 bytes", "the beg"))
    encoded = codec.encode(value)
    assert (encoded.opaque, encoded.note) == (False, "a part of it was not kept")
    assert codec.decode(encoded.text) == value


def test_an_opaque_value_handed_on_stays_what_it_was() -> None:
    codec = Codec()
    first = codec.decode(codec.encode(object()).text)
    again = codec.encode(first)
    assert again.opaque
    assert codec.decode(again.text) == first
    assert isinstance(first, Opaque)
