"""What the demo found, as data: what the world saw, what was said, what AX has on record."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from ax_adapters.demo.scenario import Scenario

Row = dict[str, Any]


@dataclass
class Outcome:
    """One conversation on one side."""

    scenario: str
    effects: list[Row] = field(default_factory=list)
    count: int = 0
    before_approval: int | None = None
    killed: bool = False
    ended: str = "it did not end"
    answer: str | None = None
    calls: list[Row] = field(default_factory=list)
    tasks: list[Row] = field(default_factory=list)
    run: Row | None = None


@dataclass
class Verdict:
    """Whether the wrapped conversation kept its promise, and what was wrong where it did not."""

    scenario: str
    kept: bool
    faults: list[str]


@dataclass
class Report:
    """Everything there is to tell."""

    folder: str
    ax_url: str
    model: str | None
    seconds: float
    bare: dict[str, Outcome]
    wrapped: dict[str, Outcome]
    verdicts: list[Verdict]

    @property
    def kept(self) -> bool:
        """Whether every promise was kept."""
        return all(each.kept for each in self.verdicts)

    def data(self) -> Row:
        """The report as plain data, for `--json`."""
        return {"kept": self.kept, **asdict(self)}


def world_seen(scenario: Scenario, world: Row) -> tuple[list[Row], int]:
    """The effects of one conversation, and how many times the thing it counts happened."""
    if scenario.kind == "search":
        return [], int(world["seen"].get("GET /search", 0))
    effects = [each for each in world["effects"] if each["subject"] == scenario.subject]
    return effects, len(effects)
