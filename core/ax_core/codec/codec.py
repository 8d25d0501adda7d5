"""The codec: results and arguments as tagged JSON text, and back."""

from __future__ import annotations

import threading
from typing import Any, TypeVar

from ax_core.codec.classes import reachable, shape_of
from ax_core.codec.encoded import Encoded, Opaque, Unreadable
from ax_core.codec.json_text import dumps
from ax_core.codec.preview import preview
from ax_core.codec.reader import read
from ax_core.codec.text import storable, type_path
from ax_core.codec.types import NOTHING, TypeCodec, Types
from ax_core.codec.writer import TooBig, Unstorable, Writer

C = TypeVar("C", bound=type)


class Codec:
    """Keeps a value as text such that `decode` gives back one equal to it in type and content.

    Plain JSON stands as it is; other types carry a tag (docs/results.md has the table). The text is ASCII,
    and no escape in it means NUL or half a surrogate pair: every database takes it, a byte per character.

    Args:
        cap: most bytes of a stored text (1 MiB); what is larger becomes a placeholder.
        types: codecs for further types.
        keep: most characters of such a value that the placeholder keeps for people (16 KiB).

    Errors: ValueError for a cap under 1024 or a tag that is taken.
    """

    def __init__(
        self, cap: int = 1_048_576, types: tuple[TypeCodec, ...] = (), *, keep: int = 16_384
    ) -> None:
        if cap < 1024:
            raise ValueError("cap must be at least 1024 bytes: a placeholder has to fit in")
        self.cap = cap
        self.keep = keep
        # replaced whole and never changed, so that a thread in the middle of a value sees one state of it
        self._types = Types(types)
        self._registering = threading.Lock()

    def register(self, codec: TypeCodec) -> None:
        """Store and read one more type; for the same tag and type the later codec is taken (a cell run again).

        Errors: ValueError for a tag that stands for another type.
        """
        with self._registering:
            self._types = self._types.with_codec(codec)

    def allow(self, cls: C) -> C:
        """Store and read an Enum, dataclass, NamedTuple or pydantic model, and those its fields are made of.

        Usable as a decorator. TypeError for any other class.
        """
        if shape_of(cls) is None:
            raise TypeError(f"{cls!r} is no Enum, dataclass, NamedTuple or pydantic model: use a TypeCodec")
        with self._registering:
            self._types = self._types.with_classes(reachable(cls))
        return cls

    def allow_annotation(self, annotation: Any) -> None:
        """Allow every class that an annotation (a tool's return type, say) names; never raises."""
        with self._registering:
            found = [cls for cls in reachable(annotation) if cls not in self._types.classes]
            if found:
                self._types = self._types.with_classes(found)

    def encode(self, value: Any) -> Encoded:
        """The value as text; never raises, whatever the object.

        What cannot be stored, or is over the cap, gives a placeholder text with `opaque=True` and a note that
        names the place and type of what was in the way.
        """
        writer = Writer(self._types, self.cap)
        try:
            text = dumps(writer.write(value))
        except Unstorable as bad:
            return self._placeholder(value, f"{bad.path}: {bad.reason}")
        except TooBig:
            return self._placeholder(value, f"truncated: over the cap of {self.cap} bytes")
        except Exception as error:  # user code inside the value; signals must pass
            return self._placeholder(value, f"could not be taken apart ({type_path(type(error))})")
        if len(text) > self.cap:
            return self._placeholder(value, f"truncated: {len(text)} bytes, over the cap of {self.cap}")
        if type(value) is Opaque:  # a placeholder handed on stays one
            return Encoded(text, True, value.note)
        return Encoded(text, False, "; ".join(sorted(writer.notes)[:5]) if writer.notes else None)

    def decode(self, text: str) -> Any:
        """A fresh value, or an `Opaque` for a placeholder; raises Unreadable for anything else."""
        return read(text, self._types)

    def readable(self, text: str) -> Any:
        """As `decode`, for lists that must not fail: an unreadable text gives the Unreadable, unraised."""
        try:
            return read(text, self._types)
        except Unreadable as unreadable:
            unreadable.text = text
            return unreadable

    def _placeholder(self, value: Any, note: str) -> Encoded:
        note, kept = storable(note, 200), preview(value, min(self.keep, self.cap))
        text = _opaque(note, kept)
        while len(text) > self.cap:  # escapes take up to twelve bytes a character
            kept = kept[: len(kept) // 2]
            text = _opaque(note, kept)
        return Encoded(text, True, note)


def _opaque(note: str, kept: str) -> str:
    return dumps(Writer(NOTHING, len(kept) + len(note) + 1).write(Opaque(note, kept)))
