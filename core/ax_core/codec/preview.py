"""The beginning of a value for people, where the value itself could not be kept."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable
from itertools import islice
from typing import Any

from ax_core.codec.classes import shape_of
from ax_core.codec.text import storable, type_path

_DEPTH, _ITEMS = 6, 50


def preview(value: Any, limit: int) -> str:
    """At most `limit` characters of a value: a text's own beginning, else JSON-like text.

    Shows the fields of data classes and models, except those declared `repr=False` or excluded; of any other
    object only its type, never its repr, which may run code or tell a secret. Never raises.
    """
    if type(value) is str:
        return value[:limit]
    try:
        return json.dumps(_Sketch(limit).draw(value, _DEPTH), ensure_ascii=False)[:limit]
    except Exception:  # a live object that fights back
        return f"<{type_path(type(value))}>"[:limit]


class _Sketch:
    """Draws until `room` characters are spent, however wide or entangled the value is."""

    def __init__(self, room: int) -> None:
        self.room = room

    def draw(self, value: Any, depth: int) -> Any:
        if self.room <= 0:
            return "…"
        self.room -= 1
        kind = type(value)
        if value is None or kind is bool or kind is float:
            return value
        if issubclass(kind, str):
            return self._text(value)
        if issubclass(kind, int):
            plain = int.__int__(value)
            return plain if plain.bit_length() < 64 else "<a long int>"
        if depth:
            if issubclass(kind, dict):
                return self._fields(islice(dict.items(value), _ITEMS), depth)
            for base in (list, tuple, set, frozenset):
                if issubclass(kind, base):
                    return [self.draw(item, depth - 1) for item in islice(base.__iter__(value), _ITEMS)]
            if (shown := _shown(value)) is not None:
                return self._fields(shown.items(), depth)
        return f"<{type_path(kind)}>"

    def _text(self, value: str) -> str:
        text = storable(str.__str__(value)[: self.room])
        self.room -= len(text)
        return text

    def _fields(self, pairs: Iterable[tuple[Any, Any]], depth: int) -> dict[str, Any]:
        return {str(self.draw(key, 1)): self.draw(item, depth - 1) for key, item in pairs}


def _shown(value: Any) -> dict[str, Any] | None:
    shape = shape_of(type(value))
    if shape == "dataclass":
        fields = dataclasses.fields(value)
        return {f.name: object.__getattribute__(value, f.name) for f in fields if f.repr}
    if shape == "pydantic":
        state = object.__getattribute__(value, "__dict__")
        return {
            name: state[name]
            for name, field in type(value).model_fields.items()
            if name in state and field.repr and field.exclude is not True
        }
    return None
