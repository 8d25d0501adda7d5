"""One walk over a value that turns it into plain JSON values with tags, within a budget."""

from __future__ import annotations

import datetime as dt
from typing import Any

from ax_core.codec.classes import class_path, take
from ax_core.codec.encoded import Opaque
from ax_core.codec.json_text import dumps
from ax_core.codec.pydantic_state import excluded
from ax_core.codec.scalars import READ, WRITE
from ax_core.codec.text import armour, is_odd, storable, type_path
from ax_core.codec.types import MARK, Types

MAX_DEPTH = 100
"""Levels of a value; with its tags it stays below every JSON parser's limit."""

_MAX_PLAIN_INT = 1 << 63
_NAMES = {float("inf"): "inf", float("-inf"): "-inf"}
_CONTAINERS: tuple[type, ...] = (dict, list, tuple, set, frozenset)
_SCALARS: tuple[type, ...] = (str, int, float, bytes, dt.datetime, dt.date)


class TooBig(Exception):
    """The value is larger than the budget; how much larger nobody looked."""


class Unstorable(Exception):
    """Something in the value cannot be stored; on its way up it learns where it was."""

    def __init__(self, reason: str) -> None:
        self.reason = reason
        self.steps: list[str] = []

    def at(self, key: object) -> Unstorable:
        """The same, one level further out."""
        if type(key) is str:
            self.steps.append(f".{storable(key, 40)}" if key.isidentifier() else f"[{storable(key, 40)!r}]")
        else:
            self.steps.append(f"[{key}]" if type(key) is int else f"[<{type_path(type(key))}>]")
        return self

    @property
    def path(self) -> str:
        """Where it was, from the outside: `$.items[3].when`."""
        steps = self.steps[::-1]
        return "$" + "".join(steps if len(steps) < 12 else [*steps[:6], " … ", *steps[-4:]])


class Writer:
    """Good for one value: counts down `budget` (characters, roughly) and collects what was kept as a base."""

    __slots__ = ("budget", "notes", "types")

    def __init__(self, types: Types, budget: int) -> None:
        self.types = types
        self.budget = budget
        self.notes: set[str] = set()

    def write(self, value: Any, depth: int = 0) -> Any:
        """The value as JSON values with tags; raises Unstorable or TooBig, and what user code raises."""
        kind = type(value)
        if kind is str:
            self._spend(len(value))
            return {MARK: "str", "v": armour(value)} if is_odd(value) else value
        if value is None or kind is bool:
            return value
        if kind is int:
            return value if -_MAX_PLAIN_INT <= value < _MAX_PLAIN_INT else self._long(value)
        if kind is float:
            # NaN is the one number that is not equal to itself
            name = "nan" if value != value else _NAMES.get(value)
            return value if name is None else {MARK: "float", "v": name}
        if depth >= MAX_DEPTH:
            raise Unstorable(f"nested deeper than {MAX_DEPTH} levels, or contains itself")
        if kind is dict:
            return self._mapping(value, depth + 1)
        if kind is list:
            return self._items(value, depth + 1)
        self._spend(1)
        if kind is tuple or kind is set or kind is frozenset:
            return self._collection(kind, value, depth)
        return self._other(kind, value, depth)

    def _spend(self, size: int) -> None:
        self.budget -= size
        if self.budget < 0:
            raise TooBig

    def _mapping(self, value: dict[Any, Any], depth: int) -> Any:
        out: dict[str, Any] = {}
        size = 1
        key: Any = None
        try:
            for key, item in dict.items(value):
                # an identifier is neither the mark nor odd, and that is the cheapest test there is
                if type(key) is not str or (not key.isidentifier() and (key == MARK or is_odd(key))):
                    break
                size += len(key)
                if type(item) is str and item.isascii() and "\0" not in item:
                    size += len(item)
                    out[key] = item
                else:
                    out[key] = self.write(item, depth)
            else:
                self._spend(size)
                return out
        except Unstorable as bad:
            raise bad.at(key) from None
        return self._pairs(value, depth)

    def _pairs(self, value: dict[Any, Any], depth: int) -> Any:
        self._spend(len(value))
        pairs = []
        for key, item in dict.items(value):
            try:
                pairs.append([self.write(key, depth), self.write(item, depth)])
            except Unstorable as bad:
                raise bad.at(key) from None
        return {MARK: "dict", "v": pairs}

    def _items(self, values: Any, depth: int) -> list[Any]:
        out: list[Any] = []
        size = 1
        try:
            for item in values:
                if type(item) is str and item.isascii() and "\0" not in item:
                    size += len(item)
                    out.append(item)
                else:
                    out.append(self.write(item, depth))
        except Unstorable as bad:
            raise bad.at(len(out)) from None
        self._spend(size + len(out))
        return out

    def _collection(self, kind: Any, value: Any, depth: int) -> Any:
        items = self._items(kind.__iter__(value), depth + 1)
        if kind is not tuple:
            items.sort(key=dumps)  # the same set is the same text in every process
        return {MARK: kind.__name__, "v": items}

    def _long(self, value: int) -> Any:
        self._spend(value.bit_length() // 4)
        return {MARK: "int", "v": hex(value)}

    def _other(self, kind: type, value: Any, depth: int) -> Any:
        codec = self.types.codec_for(kind)
        if codec is not None:
            return {MARK: codec.tag, "v": self.write(codec.encode(value), depth + 1)}
        if (shape := self.types.classes.get(kind)) is not None:
            data = take(value, shape)
            if shape == "pydantic":
                self.notes.update(f"{name} is excluded: left to its default" for name in excluded(kind))
                if "private" in data:
                    data["private"] = self._storable_part(data["private"], depth)
            return {MARK: shape, "t": class_path(kind), "v": self.write(data, depth + 1)}
        if (scalar := WRITE.get(kind)) is not None:
            tag, encode = scalar
            return {MARK: tag, "v": self.write(encode(value), depth + 1)}
        if kind is Opaque:
            self.notes.add("a part of it was not kept")
            return {MARK: "opaque", "note": self.write(value.note), "kept": self.write(value.kept)}
        return self._as_base(kind, value, depth)

    def _storable_part(self, attributes: dict[str, Any], depth: int) -> dict[str, Any]:
        kept = {}
        for name, item in attributes.items():
            try:
                self.write(item, depth + 2)
            except Unstorable:
                self.notes.add(f"private {name} left to its default")
            else:
                kept[name] = item
        return kept

    def _as_base(self, kind: type, value: Any, depth: int) -> Any:
        """An instance of a subclass as an equal value of its plain base, which a note says."""
        if kind.__module__ == "numpy" and getattr(value, "ndim", None) == 0 and value.dtype.kind in "iufbc":
            plain = value.item()
            if type(plain) in (int, float, bool, complex):
                return self._noted(kind, type(plain), self.write(plain, depth + 1))
        for base in _CONTAINERS:
            if issubclass(kind, base):
                return self._noted(kind, base, self.write(_base_value(base, value), depth))
        for base in _SCALARS:
            if issubclass(kind, base):
                plain = _base_value(base, value)
                if plain != value:
                    break
                return self._noted(kind, base, self.write(plain, depth))
        raise Unstorable(type_path(kind))

    def _noted(self, kind: type, base: type, written: Any) -> Any:
        self.notes.add(f"{type_path(kind)} kept as {base.__name__}")
        return written


def _base_value(base: type, value: Any) -> Any:
    """The bare content of an instance of a subclass, past whatever the subclass overrides."""
    if base is dict:
        return dict(dict.items(value))
    if base in _CONTAINERS:
        return base(base.__iter__(value))  # type: ignore[attr-defined]
    if base is str:
        return str.__str__(value)
    if base is int:
        return int.__int__(value)
    if base is float:
        return float.__float__(value)
    if base is bytes:
        return bytes(memoryview(value))
    tag, encode = WRITE[base]
    return READ[tag](encode(value))
