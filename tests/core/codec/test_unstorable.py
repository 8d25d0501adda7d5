"""What cannot be stored leaves a placeholder: nothing a tool returns can stop its record."""

from __future__ import annotations

import io
import json
import sys
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pydantic
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ax_core.codec import Codec, Opaque, TypeCodec, Unreadable

SECRET = "sk-secret"


class Spiteful:
    """Raises whatever is asked of it."""

    def __repr__(self) -> str:
        raise RuntimeError("repr")

    def __getattribute__(self, name: str) -> Any:
        raise RuntimeError(name)

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("eq")

    def __hash__(self) -> int:
        return 1


class SpitefulText(str):
    def __ne__(self, other: object) -> bool:
        raise RuntimeError("ne")

    __eq__ = __ne__  # type: ignore[assignment]
    __hash__ = str.__hash__


class Client:
    def __init__(self) -> None:
        self.api_key = SECRET

    def __repr__(self) -> str:
        return f"Client({SECRET})"


def deep(levels: int, wrap: Any = lambda inner: [inner]) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = wrap(value)
    return value


def cycle() -> Any:
    value: dict[str, Any] = {}
    value["self"] = [value]
    return value


def entangled() -> Any:
    value: Any = "x"
    for _ in range(60):
        value = [value, value]
    return value


class Meta(type):
    @property
    def __module__(cls) -> str:  # type: ignore[override]
        raise RuntimeError("module")


class Nameless(metaclass=Meta):
    pass


HOSTILE: dict[str, Any] = {
    "object": lambda: object(),
    "spiteful": Spiteful,
    "spiteful in a dict": lambda: {"a": [Spiteful()]},
    "spiteful key": lambda: {Spiteful(): 1},
    "spiteful text": lambda: SpitefulText("x"),
    "nameless": Nameless,
    "generator": lambda: (i for i in range(3)),
    "open file": lambda: io.BytesIO(b"x"),
    "lock": threading.Lock,
    "module": lambda: sys,
    "class": lambda: int,
    "cycle": cycle,
    "deep list": lambda: deep(10_000),
    "deep dict": lambda: deep(10_000, lambda inner: {"a": inner}),
    "deep tuple": lambda: deep(10_000, lambda inner: (inner,)),
    "entangled": entangled,
    "exception": lambda: ValueError("x"),
    "huge int": lambda: 1 << 80_000_000,
}


@pytest.mark.parametrize("make", HOSTILE.values(), ids=HOSTILE)
def test_encoding_never_raises_and_says_what_was_in_the_way(make: Any) -> None:
    encoded = Codec().encode(make())
    assert encoded.opaque
    assert encoded.note
    assert encoded.text.isascii()
    assert Codec().decode(encoded.text).note == encoded.note


@pytest.mark.parametrize(
    "value, note",
    [
        ({"items": [1, {"when": object()}]}, "$.items[1].when: object"),
        ({"a b": (object(),)}, "$['a b'][0]: object"),
        ({3: object()}, "$[3]: object"),
        (cycle(), "or contains itself"),
    ],
)
def test_the_note_gives_path_and_type(value: Any, note: str) -> None:
    assert note in (Codec().encode(value).note or "")


def test_a_placeholder_shows_people_the_data_around_but_no_live_object() -> None:
    @dataclass
    class Receipt:
        order: str
        token: str = field(repr=False)

    class Reply(pydantic.BaseModel):
        status: str
        key: pydantic.SecretStr
        hidden: str = pydantic.Field(SECRET, repr=False)

    value = {"id": 7, "client": Client(), "r": Receipt("9", SECRET), "reply": Reply(status="ok", key=SECRET)}
    kept = Codec().decode(Codec().encode(value).text).kept
    assert '"id": 7' in kept
    assert '"order": "9"' in kept
    assert '"status": "ok"' in kept
    assert SECRET not in kept


def test_a_placeholder_of_a_very_wide_value_is_made_in_no_time() -> None:
    wide: Any = ["x"] * 50
    for _ in range(6):
        wide = [wide] * 50
    kept = Codec().decode(Codec().encode([object(), wide]).text).kept
    assert kept.startswith('["<object>", [[')
    assert len(kept) <= Codec().keep


def test_a_value_a_hundred_levels_deep_is_kept_and_read_from_within_a_deep_stack() -> None:
    value = deep(100)
    codec = Codec()

    def down(levels: int) -> Any:
        return down(levels - 1) if levels else codec.decode(codec.encode(value).text)

    assert down(300) == value


# --- over the cap


@pytest.mark.parametrize("size", [1_000, 65_537, 1_048_577, 70_000_000])
def test_an_oversize_text_is_truncated_with_a_marker_before_anything_is_written(size: int) -> None:
    codec = Codec()
    encoded = codec.encode("x" * size)
    assert len(encoded.text) <= codec.cap
    assert encoded.opaque is (size > codec.cap)
    if encoded.opaque:
        opaque = codec.decode(encoded.text)
        assert isinstance(opaque, Opaque)
        assert opaque.note.startswith("truncated")
        assert opaque.kept == "x" * codec.keep


@pytest.mark.parametrize(
    "value", [["x" * 100] * 100_000, {str(n): n for n in range(200_000)}, b"x" * 2_000_000]
)
def test_an_oversize_structure_is_truncated_too(value: Any) -> None:
    codec = Codec()
    encoded = codec.encode(value)
    assert encoded.opaque
    assert "truncated" in (encoded.note or "")
    assert len(encoded.text) <= codec.cap


@settings(max_examples=100, deadline=None)
@given(st.text(st.sampled_from('a\0\ud800😀退\\"')), st.integers(1, 400))
def test_no_stored_text_is_ever_over_the_cap(text: str, times: int) -> None:
    codec = Codec(cap=1024)
    value = text * times
    for thing in (value, [value], {value: object()}):
        encoded = codec.encode(thing)
        assert len(encoded.text) <= 1024
        back = codec.decode(encoded.text)
        assert back == thing if not encoded.opaque else isinstance(back, Opaque)


# --- texts that cannot be read

UNREADABLE = {
    "cut": '{"a": 1',
    "empty": "",
    "nan": '{"a": NaN}',
    "future tag": '{"$ax":"quaternion","v":[1,2,3,4]}',
    "tag without value": '{"$ax":"tuple"}',
    "tag that is no text": '{"$ax":[1],"v":1}',
    "wrong content": '{"$ax":"uuid","v":"nope"}',
    "wrong base64": '{"$ax":"bytes","v":"*"}',
    "unknown class": '{"$ax":"dataclass","t":"os:system","v":{}}',
    "unhashable key": '{"$ax":"dict","v":[[[1],2]]}',
    "deep": "[" * 100_000,
    "long number": "1" * 10_000,
    "broken placeholder": '{"$ax":"opaque"}',
}


@pytest.mark.parametrize("text", UNREADABLE.values(), ids=UNREADABLE)
def test_a_corrupt_or_newer_text_is_unreadable_and_a_list_goes_on(text: str) -> None:
    codec = Codec()
    with pytest.raises(Unreadable):
        codec.decode(text)
    rows = [codec.readable(t) for t in ('{"a":1}', text, "[2]")]
    assert rows[0] == {"a": 1}
    assert isinstance(rows[1], Unreadable)
    assert rows[1].reason
    assert rows[2] == [2]


@pytest.mark.parametrize("row", [None, b"\xff", 7])
def test_a_row_that_is_no_text_is_unreadable_too(row: Any) -> None:
    assert isinstance(Codec().readable(row), Unreadable)


def test_reading_imports_nothing() -> None:
    before = set(sys.modules)
    codec = Codec()
    found = codec.readable('{"$ax":"pydantic","t":"antigravity:Order","v":{"fields":{}}}')
    assert isinstance(found, Unreadable)
    assert found.reason == "antigravity:Order is not on the allow-list here: codec.allow(Order)"
    assert set(sys.modules) == before


def test_a_class_that_lost_or_gained_a_field_is_unreadable_and_says_which() -> None:
    def versions() -> tuple[type, type, type]:
        def one() -> type:
            @dataclass
            class Thing:
                a: int
                b: int = 2

            return Thing

        def two() -> type:
            @dataclass
            class Thing:
                a: int

            return Thing

        def three() -> type:
            @dataclass
            class Thing:
                a: int
                b: int = 2
                c: int = 3

            return Thing

        made = one(), two(), three()
        for cls in made:
            cls.__qualname__ = "Thing"
        return made

    old, lost, gained = versions()
    codec = Codec()
    codec.allow(old)
    text = codec.encode(old(1)).text
    codec.allow(lost)
    with pytest.raises(Unreadable, match="no field b"):
        codec.decode(text)
    codec.allow(gained)
    assert codec.decode(text) == gained(1, 2, 3)
    text = codec.encode(gained(1)).text.replace('"a":1,', "")
    with pytest.raises(Unreadable, match="wants a field a"):
        codec.decode(text)


def test_a_decoder_that_raises_is_unreadable() -> None:
    broken = TypeCodec("broken", Path, str, lambda d: 1 / 0)
    codec = Codec(types=(broken,))
    text = codec.encode(Path("x")).text
    assert json.loads(text)["$ax"] == "broken"
    with pytest.raises(Unreadable, match="ZeroDivisionError"):
        codec.decode(text)
