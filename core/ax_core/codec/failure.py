"""A tool's exception as data: never the live object, and never an error of its own."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from ax_core.codec.frames import traceback_text
from ax_core.codec.json_text import dumps
from ax_core.codec.text import storable, type_path
from ax_core.codec.types import MARK, NOTHING
from ax_core.codec.writer import Writer

Link = Literal["", "cause", "context"]
REMOTE_NOTE = "Raised in another process (most recent call last):"


@dataclass(frozen=True, slots=True)
class _Limits:
    """How much of each part is kept."""

    message: int
    frames: int
    causes: int
    args: bool
    members: int
    type: int = 200


# the first that fits is taken; the last fits into 1024 bytes whatever the exception says
_TIERS = (
    _Limits(message=4_000, frames=40, causes=8, args=True, members=8),
    _Limits(message=2_000, frames=16, causes=4, args=True, members=4),
    _Limits(message=1_000, frames=6, causes=2, args=False, members=2),
    _Limits(message=40, frames=0, causes=0, args=False, members=0, type=30),
)


def encode_error(exc: BaseException, *, cap: int = 16_384, retryable: bool | None = None) -> str:
    """The exception as ASCII JSON of at most `cap` bytes (1024 at least); never raises.

    Keeps type, message, arguments where they are plain, notes, a capped traceback and the chain of causes,
    cut at a cycle and at eight. Read it with `decode_error`.
    """
    cap = max(cap, 1024)
    for tier, limits in enumerate(_TIERS):
        try:
            data = _describe(exc, limits, depth=0)
            data["retryable"] = retryable
            data["truncated"] = tier > 0
            text = dumps(data)
        except Exception:  # an exception class that fights back: a smaller part of it may still do
            continue
        if len(text) <= cap:
            return text
    name = type_path(type(exc))[:60]
    return dumps({"type": name, "message": f"<{name}: it cannot be described>", "truncated": True})


def safe_message(exc: BaseException) -> str:
    """`str(exc)`, or a stand-in where that raises."""
    try:
        return str.__str__(str(exc))
    except Exception:
        return f"<{type_path(type(exc))}: its message cannot be read>"


def _describe(exc: BaseException, limits: _Limits, depth: int) -> dict[str, Any]:
    data = _one(exc, limits, "")
    data["causes"] = [_one(cause, limits, link) for cause, link in _chain(exc, limits.causes)]
    members = getattr(exc, "exceptions", None) if isinstance(exc, BaseExceptionGroup) else None
    if members and depth < 2:
        data["members"] = [_describe(member, limits, depth + 1) for member in members[: limits.members]]
    return data


def _one(exc: BaseException, limits: _Limits, link: Link) -> dict[str, Any]:
    cls = type(exc)
    data: dict[str, Any] = {
        "type": type_path(cls)[: limits.type],
        "message": _written(_cut(safe_message(exc), limits.message)),
        "traceback": traceback_text(exc.__traceback__, limits.frames),
        "args": [_plain(arg, limits.message) for arg in _args(exc)] if limits.args else None,
        "notes": [storable(note, limits.message) for note in _notes(exc)[:5]] if limits.args else [],
    }
    if limits.causes:
        data["bases"] = [type_path(base) for base in cls.__mro__[1:12] if issubclass(base, BaseException)]
    if link:
        data["link"] = link
    return data


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[:limit]}… [{len(text) - limit} more characters]"


def _written(value: Any) -> Any:
    return Writer(NOTHING, 100_000).write(value)


def _plain(arg: Any, limit: int) -> Any:
    try:
        return Writer(NOTHING, limit).write(arg)
    except Exception:  # a live object, or too long
        return {MARK: "opaque", "note": type_path(type(arg)), "kept": ""}


def _args(exc: BaseException) -> tuple[Any, ...]:
    """What the class is made again from; a subclass may hide `args`, and OSError keeps the file elsewhere."""
    if isinstance(exc, OSError):
        reduced: Any = OSError.__reduce__(exc)
        return tuple(reduced[1])
    args = BaseException.args.__get__(exc)  # type: ignore[attr-defined]
    return tuple(args)


def _notes(exc: BaseException) -> list[str]:
    notes = exc.__dict__.get("__notes__")
    if not isinstance(notes, list):
        return []
    return [note for note in notes if isinstance(note, str) and not note.startswith(REMOTE_NOTE)]


def _chain(exc: BaseException, at_most: int) -> Iterator[tuple[BaseException, Link]]:
    seen = {id(exc)}
    for _ in range(at_most):
        link: Link = "cause" if exc.__cause__ is not None else "context"
        found = exc.__cause__ if exc.__cause__ is not None else exc.__context__
        if found is None or id(found) in seen or (link == "context" and exc.__suppress_context__):
            return
        seen.add(id(found))
        yield found, link
        exc = found
