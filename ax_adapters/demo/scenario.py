"""A conversation as data: what is asked, what the model does, what goes wrong, what AX must answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

Call = tuple[str, Mapping[str, Any]]
Step = str | list[Call]
COUNTED = {
    "refund": ("refund", "refunds"),
    "stock": ("stock move", "stock moves"),
    "search": ("search", "searches"),
    "delete": ("deletion", "deletions"),
}


@dataclass(frozen=True)
class Scenario:
    """One conversation, the same bare and wrapped."""

    name: str
    title: str
    ask: str
    script: tuple[Step, ...]
    subject: str
    kind: str
    promise: str
    wrapped_effects: int
    bare_effects: int
    states: tuple[str, ...] = ()
    trouble: Mapping[str, Any] | None = None
    kill: Literal["during", "after"] | None = None
    forever: bool = False
    tasks: int | None = None

    @property
    def session(self) -> str:
        """The session every call of this conversation is recorded under."""
        return f"demo-{self.name}"

    @property
    def counted(self) -> str:
        """What the outside world counts here, in the plural."""
        return COUNTED[self.kind][1]

    @property
    def counted_once(self) -> str:
        """The same in the singular."""
        return COUNTED[self.kind][0]
