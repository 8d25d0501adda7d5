"""The canonical form of JSON values: RFC 8785 (JCS) plus exact integers."""

from __future__ import annotations

import json
from collections.abc import Callable
from json.encoder import encode_basestring
from typing import Any

from ax_core.json_text import dumps

VERSION = "jcs1"
"""Names the rules of this file, in every argument hash: a change of rules is a change of hashes."""

MAX_DEPTH = 200
"""Containers within containers; deeper is refused (a list that contains itself, too)."""

MAX_DIGITS = 1000
"""Digits of an integer; longer is refused, because writing it takes time that grows with its square."""

_LIMIT = 10**MAX_DIGITS
_encode = json.JSONEncoder(
    ensure_ascii=False, check_circular=False, allow_nan=False, sort_keys=True, separators=(",", ":")
).encode


class NotCanonical(ValueError):
    """This value has no canonical form; ``path`` says where in it, ``why`` what is wrong."""

    def __init__(self, path: str, why: str) -> None:
        super().__init__(path, why)
        self.path = path
        self.why = why

    def __str__(self) -> str:
        return f"{self.path}: {self.why}"


def canonical(value: Any) -> bytes:
    """The one UTF-8 text of a JSON value, whatever its key order and number spelling.

    Integers of up to `MAX_DIGITS` are written exactly. A float is written as ECMAScript writes it: it equals
    the integer with the same text (1.0 and 1, 1e20 and 10**20), and from 1e21 on, where that text has an
    exponent, it equals no integer. -0.0 is 0. ``True`` is not 1 and ``"1"`` is not 1. Text is never altered.

    Args:
        value: dict with text keys, list, str, int, float, bool or None, exactly: subclasses, tuples and all
            other types go through `plain` first.

    Raises:
        NotCanonical: NaN and infinities, keys that are not text, lone surrogates, other types, and what is
            deeper than `MAX_DEPTH` or longer than `MAX_DIGITS`.
    """
    try:
        if _settled(value, 0):
            return _encode(value).encode()
    except (UnicodeEncodeError, RecursionError):
        pass  # the careful way below says where
    parts: list[str] = []
    try:
        _write(value, "$", 0, parts.append)
    except RecursionError:
        raise NotCanonical("$", "nested too deeply for this call stack") from None
    return "".join(parts).encode()


def canonical_and_text(value: Any) -> tuple[bytes, str]:
    """`canonical`, and the ASCII JSON text of the value as it stands: one and the same where its keys are in order."""
    if _settled(value, 0, in_order=True):
        text = dumps(value)
        # What the two write differently, besides order and numbers, is what ASCII has an escape for.
        if "\\u" not in text:
            return text.encode("ascii"), text
    return canonical(value), dumps(value)


def member(path: str, key: str) -> str:
    """The path of a member of an object, cut where the key is long."""
    return f"{path}.{key if len(key) <= 60 else key[:60] + '…'}"


def number(value: float) -> str:
    """A finite float as ECMAScript writes it (RFC 8785, 3.2.2.3)."""
    text = float.__repr__(value)
    if "e" in text:
        import rfc8785

        return rfc8785.dumps(value).decode()
    if text.endswith(".0"):
        return "0" if text == "-0.0" else text[:-2]
    return text


def _settled(value: Any, depth: int, in_order: bool = False) -> bool:
    """Whether the C encoder writes ``value`` in canonical form: no floats, keys that sort alike everywhere.

    ``in_order``: every object has its keys sorted as it stands.
    UTF-16 order, which JCS asks for, differs from code point order above U+FFFF: only ASCII keys are settled.
    """
    kind = type(value)
    if kind is str or kind is bool or value is None:
        return True
    if kind is int:
        return bool(-_LIMIT < value < _LIMIT)
    if depth >= MAX_DEPTH:
        return False
    if kind is dict:
        before = ""
        for key, each in value.items():
            if type(key) is not str or not key.isascii() or (in_order and key < before):
                return False
            before = key
            inner = type(each)
            if inner is not str and inner is not bool and not _settled(each, depth + 1, in_order):
                return False
        return True
    return kind is list and all(_settled(each, depth + 1, in_order) for each in value)


def _write(value: Any, path: str, depth: int, put: Callable[[str], None]) -> None:
    kind = type(value)
    if value is None:
        put("null")
    elif kind is bool:
        put("true" if value else "false")
    elif kind is str:
        put(_text(value, path))
    elif kind is int:
        if not -_LIMIT < value < _LIMIT:
            raise NotCanonical(path, f"an integer of more than {MAX_DIGITS} digits")
        put(int.__repr__(value))
    elif kind is float:
        if value - value != 0.0:
            raise NotCanonical(path, f"{value!r} is no JSON number")
        put(number(value))
    elif kind is not dict and kind is not list:
        raise NotCanonical(path, f"a value of type {kind.__qualname__} is no JSON value")
    elif depth >= MAX_DEPTH:
        raise NotCanonical(path, f"nested more than {MAX_DEPTH} deep")
    elif kind is list:
        for index, each in enumerate(value):
            put("," if index else "[")
            _write(each, f"{path}[{index}]", depth + 1, put)
        put("]" if value else "[]")
    else:
        for index, key in enumerate(_ordered(value, path)):
            put("," if index else "{")
            put(_text(key, path))
            put(":")
            _write(value[key], member(path, key), depth + 1, put)
        put("}" if value else "{}")


def _ordered(value: dict[Any, Any], path: str) -> list[str]:
    for key in value:
        if type(key) is not str:
            raise NotCanonical(path, f"the key {key!r:.60} is no text; keys of JSON objects are text")
    return sorted(value, key=lambda key: key.encode("utf-16-be", "surrogatepass"))


def _text(value: str, path: str) -> str:
    try:
        value.encode()
    except UnicodeEncodeError as error:
        found = f"U+{ord(value[error.start]):04X}"
        raise NotCanonical(path, f"text with the lone surrogate {found}, which no UTF-8 text has") from None
    return encode_basestring(value)
