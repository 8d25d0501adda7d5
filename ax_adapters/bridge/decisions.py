"""What a person answered to a question that a framework put, and how it comes on record."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ax_core import AX, Task, Verdict

DECISIONS = ("approve", "edit", "reject", "respond")


@dataclass(frozen=True)
class Decision:
    """What a person answered. ``args`` goes with edit, ``message`` with reject and respond."""

    kind: str
    by: str
    args: dict[str, Any] | None = None
    message: str | None = None


@dataclass(frozen=True)
class Responded:
    """A person answered in the tool's place; it was not run."""

    message: str


def deciding(task: Task, said: Decision) -> tuple[Any, ...]:
    """What puts a decision on record, as ``perform`` takes it; the second to decide is told what was decided."""
    if said.kind in ("approve", "edit"):
        return "confirm", task.id, said.by, said.args
    return "reject", task.id, said.by, said.message


async def adecide(ax: AX, task: Task, said: Decision) -> Verdict:
    """Put a decision on record."""
    verb, *given = deciding(task, said)
    decided: Verdict = await getattr(ax, f"a{verb}")(*given)
    return decided
