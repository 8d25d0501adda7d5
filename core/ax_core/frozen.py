"""Values that nobody changes once they are made, checked by the type checker instead of at every assignment.

``dataclass(frozen=True)`` pays for its promise at run time: each field is set through ``object.__setattr__``. A call
makes a dozen such values, so those on its way are made by this decorator; mypy refuses an assignment all the same.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar, dataclass_transform

T = TypeVar("T")


@dataclass_transform(frozen_default=True)
def frozen(*, eq: bool = True) -> Callable[[type[T]], type[T]]:
    """A dataclass with slots whose fields must not be assigned to."""
    return dataclass(slots=True, eq=eq, unsafe_hash=eq)
