"""Reading JSON text strictly: one value, nothing guessed, nothing lost."""

from __future__ import annotations

import json
from typing import Any

from ax_core.keys import MAX_DIGITS


class BadText(ValueError):
    """This text is not exactly one JSON value; the message says where it ends being one."""


def read_json(text: str) -> Any:
    """The one JSON value that ``text`` is: integers exact, no name twice in an object, no NaN, no 1e400.

    Raises:
        BadText: truncated, followed by anything, or not JSON at all.
    """
    try:
        return _decode(text)
    except json.JSONDecodeError as error:
        raise BadText(_explained(text, error)) from None
    except RecursionError:
        raise BadText("it is nested too deeply") from None


def _explained(text: str, error: json.JSONDecodeError) -> str:
    if error.msg == "Extra data":
        return (
            f"the JSON ends at character {error.pos} and other text follows it; send exactly one JSON object"
        )
    if error.msg.startswith("Unterminated string") or not text[error.pos :].strip():
        return f"it ends after {len(text)} characters, before the JSON is complete; send the whole object"
    return f"it is no JSON from character {error.pos + 1} on"


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise BadText(f"it gives {twice[:60]!r} twice in one object")
    return made


def _integer(text: str) -> int:
    if len(text) > MAX_DIGITS:
        raise BadText(f"it holds an integer of more than {MAX_DIGITS} digits")
    return int(text)


def _float(text: str) -> float:
    value = float(text)
    if value - value != 0.0:
        raise BadText(f"it holds {text[:20]}, which is beyond the range of numbers")
    return value


def _constant(name: str) -> Any:
    raise BadText(f"it holds {name}, which is no JSON number")


_decode = json.JSONDecoder(
    object_pairs_hook=_pairs, parse_int=_integer, parse_float=_float, parse_constant=_constant
).decode
