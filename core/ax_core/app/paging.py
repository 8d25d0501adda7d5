"""What the lists of the record have in common."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum


def states_of(kind: type[StrEnum], state: str | Sequence[str] | None, limit: int) -> tuple[str, ...]:
    """The states that a list is asked for, none for all.

    Raises:
        ValueError: there is no such state, or ``limit`` is not 1 to 1000.
    """
    if not 1 <= limit <= 1000:
        raise ValueError(f"limit={limit} must be 1 to 1000")
    asked = () if state is None else (state,) if isinstance(state, str) else tuple(state)
    return tuple(kind(each).value for each in asked)
