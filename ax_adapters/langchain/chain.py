"""One run as this process works in it, and how it is left."""

from __future__ import annotations

from dataclasses import dataclass

from langgraph.errors import GraphBubbleUp

from ax_core import AXError
from ax_core.app.runs import RunBlock
from ax_core.dispatch import RunScope


class Ended(Exception):
    """The run of an agent that is still at work was ended; ``verdict`` says how."""

    def __init__(self, verdict: AXError, run: str) -> None:
        super().__init__(str(verdict))
        self.verdict, self.run = verdict, run


@dataclass(eq=False)
class Chain:
    """One run as this process works in it.

    Attributes:
        inside: how many steps are in it right now.
        left_by: the exception with which a step left it, while others were still inside.
    """

    block: RunBlock
    scope: RunScope
    inside: int = 0
    left_by: type[BaseException] | None = None


def way(kind: type[BaseException] | None) -> str:
    """How a run is left after an exception: held for the next step, paused for a person, or closed."""
    if kind is None:
        return "rest"
    return "pause" if issubclass(kind, GraphBubbleUp) else "close"
