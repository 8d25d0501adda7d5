"""An error as it was stored."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from ax_core.codec.encoded import Opaque
from ax_core.codec.json_text import loads
from ax_core.codec.reader import restore
from ax_core.codec.types import NOTHING


@dataclass(frozen=True, slots=True)
class StoredError:
    """What is known of a tool's exception after its process is gone.

    Attributes:
        type: `module.Name`, or the bare name of a builtin.
        message: what `str()` of it said, cut if it was long.
        traceback: one `file:line in function` per frame, most recent last.
        causes: the chain of causes, nearest first; each says in `link` how the one before it points there.
        args: its arguments; an Opaque where one was a live object or too long.
        complete: whether `args` are all of them, as they were.
        members: of an exception group.
        bases: the classes it inherits from, nearest first.
        retryable: what the policy said about trying again, None where it was not asked.
        truncated: parts were left out to stay below the cap.
    """

    type: str
    message: str
    traceback: str = ""
    causes: tuple[StoredError, ...] = ()
    args: tuple[Any, ...] = ()
    complete: bool = False
    notes: tuple[str, ...] = ()
    members: tuple[StoredError, ...] = ()
    bases: tuple[str, ...] = ()
    link: Literal["", "cause", "context"] = ""
    retryable: bool | None = None
    truncated: bool = False

    def __str__(self) -> str:
        return f"{self.type}: {self.message}" if self.message else self.type


def decode_error(text: str) -> StoredError:
    """The stored error; for a text that cannot be read one of type `Unreadable`. Never raises."""
    try:
        return _stored(loads(text))
    except Exception as error:  # whatever is wrong with the row, a list that shows it must go on
        return StoredError("Unreadable", f"the stored error cannot be read: {type(error).__name__}")


def _stored(data: dict[str, Any]) -> StoredError:
    args = data.get("args")
    restored = tuple(restore(arg, NOTHING) for arg in args or ())
    return StoredError(
        type=_text(data["type"]),
        message=_text(restore(data["message"], NOTHING)),
        traceback=_text(data.get("traceback") or ""),
        causes=tuple(_stored(cause) for cause in data.get("causes") or ()),
        args=restored,
        complete=args is not None and not any(isinstance(arg, Opaque) for arg in restored),
        notes=tuple(_text(note) for note in data.get("notes") or ()),
        members=tuple(_stored(member) for member in data.get("members") or ()),
        bases=tuple(_text(base) for base in data.get("bases") or ()),
        link=data.get("link") or "",
        retryable=data.get("retryable"),
        truncated=bool(data.get("truncated")),
    )


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError("not a text")
    return value
