"""Which types beside the built-in ones a codec may write and read."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, get_args

from ax_core.codec.classes import Shape, class_path, shape_of
from ax_core.codec.scalars import READ

MARK = "$ax"
RESERVED = frozenset({*READ, *get_args(Shape), "opaque"})


@dataclass(frozen=True, slots=True)
class TypeCodec:
    """How a type outside the built-in table is stored.

    `type` (one or several) covers its subclasses; `encode` returns anything the codec can store in turn, and
    `decode` gets that back, already decoded. `tag` names it in the text and may never change its meaning.
    """

    tag: str
    type: type | tuple[type, ...]
    encode: Callable[[Any], Any]
    decode: Callable[[Any], Any]


class Types:
    """An unchanging snapshot of what is registered: a registration makes a new one, none sees half."""

    __slots__ = ("_found", "by_path", "by_tag", "classes", "codecs")

    def __init__(self, codecs: Iterable[TypeCodec] = (), classes: Iterable[type] = ()) -> None:
        self.codecs = tuple(codecs)
        self.by_tag: dict[str, TypeCodec] = {}
        self.classes: dict[type, Shape] = {}
        self.by_path: dict[str, type] = {}
        self._found: dict[type, TypeCodec | None] = {}
        for codec in self.codecs:
            if codec.tag in RESERVED or self.by_tag.setdefault(codec.tag, codec) is not codec:
                raise ValueError(f"the tag {codec.tag!r} is taken: try 'myapp.{codec.tag}'")
        for cls in classes:
            shape = shape_of(cls)
            if shape is None:
                raise TypeError(f"{cls!r} is no Enum, dataclass, NamedTuple or model: use a TypeCodec")
            self.classes[cls] = shape
            self.by_path[class_path(cls)] = cls

    def with_codec(self, codec: TypeCodec) -> Types:
        """This snapshot and one more TypeCodec, in the place of one with the same tag for the same type."""
        others = (known for known in self.codecs if _spoken_for(known) != _spoken_for(codec))
        return Types((*others, codec), self.classes)

    def with_classes(self, classes: Iterable[type]) -> Types:
        """This snapshot and these classes; of two with the same import path the later one is read into."""
        added = list(classes)
        return Types(self.codecs, [*(c for c in self.classes if c not in added), *added])

    def codec_for(self, cls: type) -> TypeCodec | None:
        """The TypeCodec of the nearest registered base of `cls`."""
        try:
            return self._found[cls]
        except KeyError:
            pass
        covered = {base: codec for codec in reversed(self.codecs) for base in _bases(codec)}
        found = next((covered[base] for base in cls.__mro__ if base in covered), None)
        self._found[cls] = found
        return found


def _bases(codec: TypeCodec) -> tuple[type, ...]:
    return codec.type if isinstance(codec.type, tuple) else (codec.type,)


def _spoken_for(codec: TypeCodec) -> list[str]:
    return [codec.tag, *map(class_path, _bases(codec))]


NOTHING = Types()
