"""A stored error as an exception again, so that handlers of the caller still match."""

from __future__ import annotations

import builtins
import sys
from functools import lru_cache
from typing import Any

from ax_core.codec.failure import REMOTE_NOTE, safe_message
from ax_core.codec.stored_error import StoredError


class RemoteToolError(Exception):
    """Stands for a tool's exception whose class cannot be made again here; `stored` has what is known."""

    stored: StoredError

    def __str__(self) -> str:
        return self.stored.message


def rebuild(stored: StoredError) -> BaseException:
    """An exception of the stored type where that is possible, else a stand-in that its handlers still catch.

    A builtin, or a class of a module that is loaded already, is made from its stored arguments if it takes
    them and then says the same message. Otherwise the result is a subclass of RemoteToolError and of the
    nearest base that can be found. Never imports, never raises; causes and notes are put back, and where it
    was raised is added as a note, which no model reads.
    """
    made = _rebuilt(stored)
    before = made
    for cause in stored.causes:
        found = _rebuilt(cause)
        if cause.link == "cause":
            before.__cause__ = found
        else:
            before.__context__ = found
        before = found
    return made


def _rebuilt(stored: StoredError) -> BaseException:
    cls = find_class(stored.type)
    made = _made(cls, stored) if cls is not None else None
    if made is None:
        made = _stand_in(stored)
    try:
        for note in stored.notes:
            made.add_note(note)
        if stored.traceback:
            made.add_note(f"{REMOTE_NOTE}\n{stored.traceback}")
    except Exception:  # a class that does not want notes
        pass
    return made


def _made(cls: type[BaseException], stored: StoredError) -> BaseException | None:
    try:
        if issubclass(cls, BaseExceptionGroup):
            if not stored.members:
                return None
            # str() of a group counts its members, so the message is no test here
            return cls(stored.args[0], [rebuild(member) for member in stored.members])
        if not stored.complete:
            return None
        made = cls(*stored.args)
        return made if type(made) is cls and safe_message(made) == stored.message else None
    except Exception:  # it takes other arguments than it keeps
        return None


def _stand_in(stored: StoredError) -> RemoteToolError:
    for path in (stored.type, *stored.bases):
        base = find_class(path)
        if base is None:
            continue
        try:
            cls = _stand_in_class(stored.type, base)  # type: ignore[arg-type]
            # past the constructor of the base, which would want its own arguments
            made = cls.__new__(cls, *(stored.args if stored.complete else (stored.message,)))
            made.stored = stored
        except Exception:  # a base that cannot be inherited from like this: the next one
            continue
        return made
    made = RemoteToolError(stored.message)
    made.stored = stored
    return made


@lru_cache(maxsize=256)
def _stand_in_class(path: str, base: Any) -> type[RemoteToolError]:
    module, _, name = path.rpartition(".")
    bases = (RemoteToolError,) if issubclass(RemoteToolError, base) else (RemoteToolError, base)
    body: dict[str, Any] = {"__module__": module or "builtins", "__init__": _no_init, "__doc__": base.__doc__}
    return type(name, bases, body)


def _no_init(self: BaseException, *args: Any, **kwargs: Any) -> None:
    """The stand-in is filled from what was stored."""


def find_class(path: str) -> type[BaseException] | None:
    """The exception class of a stored name, if its module is loaded already.

    Looks into the dictionaries only: an attribute look-up may import, in modules that load lazily.
    """
    parts = path.split(".")
    for split in range(len(parts) - 1, -1, -1):
        found: Any = sys.modules.get(".".join(parts[:split])) if split else builtins
        try:
            for part in parts[split:]:
                found = _namespace(found)[part]
        except Exception:  # no such module or name here
            continue
        return found if isinstance(found, type) and issubclass(found, BaseException) else None
    return None


def _namespace(owner: Any) -> Any:
    return (type if isinstance(owner, type) else object).__getattribute__(owner, "__dict__")
