"""The table of built-in types that JSON does not have: how each is written and read."""

from __future__ import annotations

import base64
import datetime as dt
import decimal
import fractions
import pathlib
import sys
import uuid
from collections import deque
from collections.abc import Callable
from typing import Any

from ax_core.codec.text import disarm

Pair = tuple[str, Callable[[Any], Any]]


def _zone(tz: dt.tzinfo | None) -> str | None:
    zoneinfo = sys.modules.get("zoneinfo")
    return getattr(tz, "key", None) if zoneinfo and isinstance(tz, zoneinfo.ZoneInfo) else None


def write_datetime(value: dt.datetime) -> Any:
    """ISO text; with fold and IANA zone beside it where either says something the text does not."""
    text, zone = dt.datetime.isoformat(value), _zone(value.tzinfo)
    return [text, value.fold, zone] if zone or value.fold else text


def write_time(value: dt.time) -> Any:
    """ISO text as for a datetime; a zone that knows no offset without a date cannot be kept."""
    text, zone = value.isoformat(), _zone(value.tzinfo)
    if value.tzinfo is not None and zone is None and value.utcoffset() is None:
        raise ValueError("a time whose zone has no offset without a date")
    return [text, value.fold, zone] if zone or value.fold else text


def _in_zone(value: Any, fold: int, zone: str | None) -> Any:
    if zone is None:
        return value.replace(fold=fold)
    from zoneinfo import ZoneInfo

    try:
        tz: dt.tzinfo = ZoneInfo(zone)
    except Exception:  # no such zone on this machine: the offset in the text is the same instant
        return value.replace(fold=fold)
    return value.replace(tzinfo=tz, fold=fold)


def read_datetime(data: Any) -> dt.datetime:
    """Undo `write_datetime`; the wall time holds, also where the zone's rules have changed since."""
    if isinstance(data, str):
        return dt.datetime.fromisoformat(data)
    text, fold, zone = data
    made: dt.datetime = _in_zone(dt.datetime.fromisoformat(text), fold, zone)
    return made


def read_time(data: Any) -> dt.time:
    """Undo `write_time`."""
    if isinstance(data, str):
        return dt.time.fromisoformat(data)
    text, fold, zone = data
    made: dt.time = _in_zone(dt.time.fromisoformat(text), fold, zone)
    return made


def _base64(value: bytes | bytearray) -> str:
    return base64.b64encode(value).decode("ascii")


def _path(value: pathlib.PurePath) -> list[str]:
    return [type(value).__name__, str(value)]


_PATHS = {
    name: getattr(pathlib, name) for name in ("PosixPath", "WindowsPath", "PurePosixPath", "PureWindowsPath")
}


def _read_path(data: Any) -> pathlib.PurePath:
    name, text = data
    try:
        made: pathlib.PurePath = _PATHS[name](text)
    except NotImplementedError:  # a concrete path of the other kind of system
        made = _PATHS[f"Pure{name}"](text)
    return made


WRITE: dict[type, Pair] = {
    bytes: ("bytes", _base64),
    bytearray: ("bytearray", _base64),
    complex: ("complex", lambda v: [v.real, v.imag]),
    dt.datetime: ("datetime", write_datetime),
    dt.date: ("date", dt.date.isoformat),
    dt.time: ("time", write_time),
    dt.timedelta: ("timedelta", lambda v: [v.days, v.seconds, v.microseconds]),
    decimal.Decimal: ("decimal", str),
    fractions.Fraction: ("fraction", lambda v: [v.numerator, v.denominator]),
    uuid.UUID: ("uuid", str),
    range: ("range", lambda v: [v.start, v.stop, v.step]),
    deque: ("deque", lambda v: [v.maxlen, list(v)]),
    **dict.fromkeys(_PATHS.values(), ("path", _path)),
}

READ: dict[str, Callable[[Any], Any]] = {
    "bytes": lambda d: base64.b64decode(d, validate=True),
    "bytearray": lambda d: bytearray(base64.b64decode(d, validate=True)),
    "complex": lambda d: complex(*d),
    "datetime": read_datetime,
    "date": dt.date.fromisoformat,
    "time": read_time,
    "timedelta": lambda d: dt.timedelta(*d),
    "decimal": decimal.Decimal,
    "fraction": lambda d: fractions.Fraction(*d),
    "uuid": uuid.UUID,
    "range": lambda d: range(*d),
    "deque": lambda d: deque(d[1], d[0]),
    "path": _read_path,
    "str": disarm,
    "int": lambda d: int(d, 16),
    "float": float,
    "tuple": tuple,
    "set": set,
    "frozenset": frozenset,
    "dict": dict,
}
