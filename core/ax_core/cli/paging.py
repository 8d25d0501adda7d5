"""What the commands that list have in common: the states that a person wrote, and where to go on."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Literal

from .out import text

if TYPE_CHECKING:
    from rich.console import Console

    from ..app import AX


def states_named(kind: type[StrEnum], given: list[str] | None, of: str = "") -> list[str] | None:
    """States in the record's spelling; None: all.

    Raises:
        ValueError: one is none; ``of`` says what it would be a state of.
    """
    wanted = [name.upper() for name in given or ()]
    for name in wanted:
        if name not in set(kind):
            raise ValueError(f"no state{of} is named {name}; there are: {', '.join(kind)}")
    return wanted or None


def cursor(ax: AX, after: str | None, of: Literal["task", "run"]) -> str | None:
    """The id to go on after, where it may be cut."""
    return after if after is None or len(after) == 36 else ax.find(after, of=of)


def say_more(on: Console, after: str | None) -> None:
    """How to get the next page, if there is one."""
    if after:
        on.print(text(f"more: --after {after}", "dim"))
