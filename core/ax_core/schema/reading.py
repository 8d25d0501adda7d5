"""Reading a value as another JSON type, where nothing is lost; the rules are in `ax_core.schema.coerce`."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from ax_core.keys import MAX_DIGITS
from ax_core.schema.jsontext import BadText, read_json

_BLANKS = " \t\r\n"
_INTEGER = re.compile(r"(-?(?:0|[1-9][0-9]*))(?:\.0+)?")
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]{1,9})?")
_EXACT = 2**53
_ORDER = ("integer", "number", "boolean", "object", "array")


@dataclass(frozen=True, slots=True)
class Reading:
    """A value read as another type: the value, and the name of that type."""

    value: Any
    kind: str


@dataclass(frozen=True, slots=True)
class Unread:
    """A value that cannot be read so without guessing; ``why`` may be empty."""

    why: str = ""


def read_as(value: Any, kinds: frozenset[str]) -> Reading | Unread:
    """``value``, whose own type the schema refuses, as the one of ``kinds`` that it is without loss.

    Args:
        value: of any JSON type; only texts and whole floats are ever read.
        kinds: JSON types that the schema declares by name.
    """
    if type(value) is float and "integer" in kinds:
        if not value.is_integer():
            return Unread("a fraction is never cut off")
        if abs(value) > _EXACT:
            return Unread("a float this large may have lost digits; send a whole number without exponent")
        return Reading(int(value), "integer")
    if value is None:
        return Unread("leave the argument out where no value is meant")
    if type(value) is not str:
        return Unread()
    reasons = []
    for kind in _ORDER:
        if kind in kinds:
            outcome = _READERS[kind](value)
            if isinstance(outcome, Reading):
                return outcome
            reasons.append(outcome.why)
    return Unread(reasons[0] if len(reasons) == 1 else "")


def _integer(text: str) -> Reading | Unread:
    text = text.strip(_BLANKS)
    if not text:
        return _blank()
    if len(text) > MAX_DIGITS:
        return Unread(f"it is longer than {MAX_DIGITS} characters")
    match = _INTEGER.fullmatch(text)
    return Reading(int(match[1]), "integer") if match else Unread("send plain decimal digits")


def _number(text: str) -> Reading | Unread:
    whole = _integer(text)
    text = text.strip(_BLANKS)
    if isinstance(whole, Reading) and "." not in text:
        return whole
    if not text:
        return _blank()
    if len(text) > MAX_DIGITS or not _NUMBER.fullmatch(text):
        return Unread("send a plain decimal number")
    value = float(text)
    if value - value != 0.0 or Decimal(repr(value)) != Decimal(text):
        return Unread("a double cannot hold it exactly")
    return Reading(value, "number")


def _boolean(text: str) -> Reading | Unread:
    word = text.strip(_BLANKS).lower() if len(text) < 100 else ""
    return Reading(word == "true", "boolean") if word in ("true", "false") else Unread("send true or false")


def _decoded(text: str, kind: type, name: str) -> Reading | Unread:
    try:
        value = read_json(text)
    except BadText as error:
        return Unread(f"it was read as JSON, but {error}")
    if type(value) is kind:
        return Reading(value, name)
    return Unread(f"it is JSON, but no {name}; send the {name} itself, not text")


def _blank() -> Unread:
    return Unread("empty text is no value; leave the argument out where no value is meant")


_READERS: dict[str, Callable[[str], Reading | Unread]] = {
    "integer": _integer,
    "number": _number,
    "boolean": _boolean,
    "object": lambda text: _decoded(text, dict, "object"),
    "array": lambda text: _decoded(text, list, "array"),
}
