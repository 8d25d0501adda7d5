"""Classes on the allow-list, and types with a codec of their own."""

from __future__ import annotations

import datetime as dt
import enum
import json
import uuid
from dataclasses import InitVar, dataclass, field
from decimal import Decimal
from typing import Any

import pydantic
import pytest

from ax_core.codec import Codec, Opaque, TypeCodec
from support.codec_texts import stored


class Colour(enum.Enum):
    RED = "red"
    BLUE = 2


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
