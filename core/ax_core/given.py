"""Fields that may be given in more forms than they are read in, as a type checker is told of them."""

from __future__ import annotations

from typing import Any, Generic, TypeVar

R = TypeVar("R", covariant=True)
G = TypeVar("G", contravariant=True)


class Given(Generic[R, G]):
    """The type of a dataclass field that is read as ``R`` and given as ``G``; ``__post_init__`` makes one of the other.

    No field is such an object: type checkers take a descriptor's two types for those of the field.
    """

    def __get__(self, owner: Any, kind: Any) -> R:
        raise NotImplementedError

    def __set__(self, owner: Any, value: G) -> None:
        raise NotImplementedError
