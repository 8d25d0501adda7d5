"""Text from the record as it may be shown: what a terminal would obey is written out instead."""

from __future__ import annotations

import json
import math
import unicodedata
from dataclasses import fields, is_dataclass
from datetime import date, datetime, time
from typing import Any

from ..codec import Opaque, Unreadable

_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
"""Control, format (also what turns the direction of writing), half characters, line and paragraph separators."""


def clean(value: object) -> str:
    """One line of text in which nothing is hidden and nothing is an order to a terminal."""
    text = str(value)
    if text.isprintable():
        return text
    return "".join(_written_out(char) if unicodedata.category(char) in _HIDDEN else char for char in text)


def shown(value: Any, most: int | None = None) -> str:
    """A value of the record as one line of JSON, cut at ``most`` characters."""
    text = clean(json.dumps(plain(value), ensure_ascii=False))
    return text if most is None or len(text) <= most else text[: most - 1] + "…"


def plain(value: Any) -> Any:
    """A value of the record as JSON can say it; what it cannot is told as text."""
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, dict):
        return {key if isinstance(key, str) else str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(item) for item in value]
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    if isinstance(value, Unreadable):
        return {"unreadable": value.reason, "stored": plain(value.text)}
    if isinstance(value, Opaque):
        return {"not_kept": value.note, "kept": value.kept}
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    return str(value)


def _written_out(char: str) -> str:
    if char in "\n\r\t":
        return {"\n": "\\n", "\r": "\\r", "\t": "\\t"}[char]
    code = ord(char)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
