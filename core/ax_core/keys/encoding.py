"""Python values as JSON values: one stable, distinct text per value, or a refusal, never a ``repr()``."""

from __future__ import annotations

import base64
import dataclasses
import datetime as dt
import enum
import pathlib
import uuid
from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any

from ax_core.keys.jcs import MAX_DEPTH, NotCanonical, canonical, member


def plain(value: Any, path: str = "$") -> Any:
    """``value`` as JSON values; the same object where it already is.

    date, time, datetime and timedelta become ISO 8601 text (with the offset if there is one, UTC as ``Z``;
    equal instants in different zones stay different), UUID and Path their text, Decimal its shortest decimal
    text, an Enum its value, bytes ``{"$bytes": base64}``, tuples lists, sets lists in canonical order,
    dataclasses and mappings objects, pydantic models ``model_dump(mode="json", by_alias=True)``, numpy
    scalars ``.item()``.

    Args:
        path: where ``value`` stands, for the message.

    Raises:
        NotCanonical: any other type (generator, file, secret, function, ...), NaN and infinities, keys that
            are not text, and what is nested deeper than `MAX_DEPTH`.
    """
    return value if _is_json(value, 0) else _encode(value, path, 0)


def _is_json(value: Any, depth: int) -> bool:
    kind = type(value)
    if kind is str or kind is int or kind is bool or value is None:
        return True
    if kind is float:
        return bool(value - value == 0.0)
    if depth >= MAX_DEPTH:
        return False
    if kind is dict:
        return all(type(key) is str and _is_json(each, depth + 1) for key, each in value.items())
    return kind is list and all(_is_json(each, depth + 1) for each in value)


def _encode(value: Any, path: str, depth: int) -> Any:
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, enum.Enum):
        return _encode(value.value, path, depth + 1)
    for kind, write in _SCALARS:
        if isinstance(value, kind):
            return write(value, path)
    if depth >= MAX_DEPTH:
        raise NotCanonical(path, f"nested more than {MAX_DEPTH} deep")
    if isinstance(value, Mapping):
        return _object(value.items(), path, depth)
    if isinstance(value, list | tuple):
        return [_encode(each, f"{path}[{index}]", depth + 1) for index, each in enumerate(value)]
    if isinstance(value, set | frozenset):
        return sorted((_encode(each, f"{path}{{}}", depth + 1) for each in value), key=canonical)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return _object(((f.name, getattr(value, f.name)) for f in dataclasses.fields(value)), path, depth)
    if hasattr(type(value), "__pydantic_serializer__") and hasattr(value, "model_dump"):
        return _model(value, path, depth)
    if type(value).__module__ == "numpy" and getattr(value, "shape", None) == ():
        return _numpy(value, path, depth)
    raise NotCanonical(
        path, f"a value of type {type(value).__qualname__} has no stable text; pass plain data"
    )


def _object(items: Iterable[tuple[Any, Any]], path: str, depth: int) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for key, value in items:
        if not isinstance(key, str):
            raise NotCanonical(path, f"the key {key!r:.60} is no text; keys of JSON objects are text")
        made[str.__str__(key)] = _encode(value, member(path, key), depth + 1)
    return made


def _float(value: float, path: str) -> float:
    if value - value != 0.0:
        raise NotCanonical(path, f"{value!r} is no JSON number")
    return float.__float__(value)


def _decimal(value: Decimal, path: str) -> str:
    """10, 10.0 and 1E+1 are one text; digits are never rounded, and far exponents are never spelt out."""
    if not value.is_finite():
        raise NotCanonical(path, f"{value} is no JSON number")
    sign, digits, exponent = value.as_tuple()
    text = "".join(map(str, digits)).lstrip("0")
    short = text.rstrip("0")
    if not short:
        return "0"
    shift = int(exponent) + len(text) - len(short)
    exact = Decimal((sign, tuple(map(int, short)), shift))
    return f"{exact:f}" if -200 <= shift <= 200 else f"{'-' * sign}{short}E{shift:+d}"


def _moment(value: dt.datetime | dt.time, path: str) -> str:
    text = value.isoformat()
    if value.tzinfo is not None and value.utcoffset() is None:
        raise NotCanonical(path, "a time whose zone has no offset without a date")
    return f"{text[:-6]}Z" if text.endswith("+00:00") else text


def _span(value: dt.timedelta, path: str) -> str:
    """ISO 8601, in days and seconds."""
    if value < dt.timedelta(0):
        return f"-{_span(-value, path)}"
    micros = f".{value.microseconds:06d}".rstrip("0") if value.microseconds else ""
    return f"P{value.days}DT{value.seconds}{micros}S"


def _bytes(value: bytes | bytearray | memoryview, path: str) -> dict[str, str]:
    return {"$bytes": base64.b64encode(value).decode("ascii")}


_SCALARS: tuple[tuple[Any, Any], ...] = (
    (str, lambda value, path: str.__str__(value)),
    (int, lambda value, path: int.__int__(value)),
    (float, _float),
    (Decimal, _decimal),
    ((dt.datetime, dt.time), _moment),
    (dt.date, lambda value, path: value.isoformat()),
    (dt.timedelta, _span),
    (uuid.UUID, lambda value, path: str(value)),
    (pathlib.PurePath, lambda value, path: str(value)),
    ((bytes, bytearray, memoryview), _bytes),
)


def _model(value: Any, path: str, depth: int) -> Any:
    """A pydantic model as its own JSON; as its Python values where that JSON is not stable and distinct."""
    try:
        dumped = value.model_dump(by_alias=True)
        if not _undistinct(dumped):
            dumped = value.model_dump(mode="json", by_alias=True)
    except Exception as error:  # whatever a user's serializer raises
        why = f"a value of type {type(value).__qualname__} does not serialise ({type(error).__name__})"
        raise NotCanonical(path, why) from error
    return _encode(dumped, path, depth + 1)


def _undistinct(value: Any) -> bool:
    # JSON mode writes sets in the order of this process's hash seed and every secret as the same asterisks.
    if isinstance(value, dict):
        return any(_undistinct(each) for each in value.values())
    if isinstance(value, list | tuple):
        return any(_undistinct(each) for each in value)
    return isinstance(value, set | frozenset) or hasattr(value, "get_secret_value")


def _numpy(value: Any, path: str, depth: int) -> Any:
    item = value.item()
    if type(item) is type(value) or getattr(value.dtype, "kind", None) in ("m", "M"):
        raise NotCanonical(path, f"a numpy {value.dtype} has no exact JSON value; convert it first")
    return _encode(item, path, depth + 1)
