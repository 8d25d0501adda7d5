"""The findings: one line per promise, with the number it was held against."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.measure import Duel


@dataclass(frozen=True)
class Line:
    """One comparison: both sides, the figure, the limit. Without a limit it is for information."""

    what: str
    ours: str
    theirs: str
    figure: float
    unit: str
    limit: float | None
    load: tuple[float, float]
    ratios: tuple[float, ...] = ()
    at_least: bool = False

    @property
    def met(self) -> bool | None:
        """Whether the figure keeps within the limit; None where there is none."""
        if self.limit is None:
            return None
        return self.figure >= self.limit if self.at_least else self.figure <= self.limit


@dataclass
class Findings:
    """All lines, what was left out and why, and the machine."""

    machine: dict[str, Any]
    lines: list[Line] = field(default_factory=list)
    skipped: dict[str, str] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)
    seconds: float = 0.0

    def duel(
        self, what: str, found: Duel, limit: float | None, *, figure: float | None = None, **more: Any
    ) -> None:
        """Add a comparison; the figure is the median ratio unless it is given."""
        self.lines.append(
            Line(
                what=what,
                ours=f"{found.a}: {found.a_ms:.3f} ms",
                theirs=f"{found.b}: {found.b_ms:.3f} ms",
                figure=found.ratio if figure is None else figure,
                unit="×",
                limit=limit,
                load=found.load,
                ratios=found.ratios,
                **more,
            )
        )

    @property
    def met(self) -> bool:
        """Whether everything ran and no limit was missed."""
        return not self.failed and all(line.met is not False for line in self.lines)

    def save(self, path: Path) -> None:
        """As JSON."""
        data = {**asdict(self), "met": self.met}
        for row, line in zip(data["lines"], self.lines, strict=True):
            row["met"] = line.met
        path.write_text(json.dumps(data, indent=2) + "\n", encoding="utf-8")

    def show(self, console: Console) -> None:
        """As a table."""
        table = Table(title="AX beside others (medians; ratio = left / right)", title_style="bold")
        for name in ("comparison", "AX", "the other", "figure", "limit", "met", "load"):
            table.add_column(
                name, overflow="fold", justify="right" if name in ("figure", "limit") else "left"
            )
        for line in self.lines:
            sign = "≥" if line.at_least else "≤"
            verdict = {True: "[green]yes[/]", False: "[bold red]NO[/]", None: ""}[line.met]
            table.add_row(
                line.what,
                line.ours,
                line.theirs,
                f"{line.figure:.3f} {line.unit}",
                "" if line.limit is None else f"{sign} {line.limit:.3f}",
                verdict,
                f"{line.load[0]:.1f}–{line.load[1]:.1f}",
            )
        console.print(table)
        for what, why in self.skipped.items():
            console.print(f"left out: {what}: {why}")
        for what, why in self.failed.items():
            console.print(f"[bold red]failed[/]: {what}: {why}")
        console.print(f"{self.seconds:.0f} s on {self.machine}")
