"""Text that every database takes, and names of types that can always be asked for."""

from __future__ import annotations

import re

_ODD = re.compile("[\x00\ud800-\udfff]")
_ODD_OR_SIGN = re.compile("[\x00\ud800-\udfff%]")
_ARMOURED = re.compile("%([0-9a-f]{4})")


def is_odd(text: str) -> bool:
    """Whether a database may refuse this text: it holds NUL or half of a surrogate pair."""
    if "\0" in text:
        return True
    if text.isascii():
        return False
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return True
    return False


def armour(text: str) -> str:
    """The same text without NUL or lone surrogates; `disarm` gives back exactly what went in."""
    return _ODD_OR_SIGN.sub(lambda m: f"%{ord(m[0]):04x}", text)


def disarm(text: str) -> str:
    """Undo `armour`."""
    return _ARMOURED.sub(lambda m: chr(int(m[1], 16)), text)


def storable(text: str, limit: int | None = None) -> str:
    """Text for people (a message, a note) that every database takes.

    NUL becomes ␀ and half a surrogate pair �, which cannot be undone; more than `limit` characters are cut
    and the cut is marked. Do not use it for ids: two different ones may become the same text.
    """
    text = str.__str__(text)
    if limit is not None and len(text) > limit:
        text = f"{text[:limit]}… [{len(text) - limit} more characters]"
    return _ODD.sub(lambda m: "␀" if m[0] == "\0" else "�", text) if is_odd(text) else text


def type_path(cls: type) -> str:
    """`module.Name` of a class, `Name` alone for a builtin; a class that hides its name gets a stand-in."""
    try:
        module, name = cls.__module__, cls.__qualname__
        if type(module) is not str or type(name) is not str:
            return "unknown type"
    except Exception:
        return "unknown type"
    return storable(name if module == "builtins" else f"{module}.{name}", 200)
