"""The classes of wrapped tools."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

from ax_core import AX

from .policies import Binding

T = TypeVar("T")


class Shadows:
    """The subclasses that stand for the tools of one AX."""

    def __init__(self, _: AX) -> None:
        self._made: dict[tuple[Any, Binding], Any] = {}

    def of(self, base: type[T], binding: Binding, make: Callable[[type[T], Binding], type[T]]) -> type[T]:
        """The subclass of ``base`` for a binding; made once for both."""
        key = (base, binding)
        if key not in self._made:
            self._made[key] = make(base, binding)
        return cast(type[T], self._made[key])

    def __len__(self) -> int:
        return len(self._made)
