"""Two contenders in turns, and what is left when the machine's mood is divided out: medians of ratios."""

from __future__ import annotations

import gc
import os
import statistics
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Block = Callable[[int], float]
"""Runs that many calls and returns the seconds they took together."""


@dataclass(frozen=True)
class Contender:
    """Something that can be called n times."""

    name: str
    block: Block
    calls: int
    """How many calls make one block: enough for about a tenth of a second."""


@dataclass(frozen=True)
class Duel:
    """Both contenders' median milliseconds per call, the ratio per round, and the load meanwhile."""

    a: str
    b: str
    a_ms: float
    b_ms: float
    ratios: tuple[float, ...]
    load: tuple[float, float]

    @property
    def ratio(self) -> float:
        """The median of a / b over the rounds."""
        return statistics.median(self.ratios)


def duel(a: Contender, b: Contender, rounds: int = 9) -> Duel:
    """A, B, A, B, …: each round gives one ratio; a warm-up round is not counted."""
    for each in (a, b):
        each.block(max(each.calls // 4, 2))
    before = os.getloadavg()[0]
    times: list[tuple[float, float]] = []
    for number in range(rounds):
        gc.collect()
        first, second = (a, b) if number % 2 == 0 else (b, a)
        one, two = per_call(first), per_call(second)
        times.append((one, two) if first is a else (two, one))
    return Duel(
        a=a.name,
        b=b.name,
        a_ms=statistics.median(one for one, _ in times) * 1e3,
        b_ms=statistics.median(two for _, two in times) * 1e3,
        ratios=tuple(one / two for one, two in times),
        load=(before, os.getloadavg()[0]),
    )


def per_call(each: Contender) -> float:
    """Mean seconds per call in one block: the mean, so that what is paid now and then is paid here too."""
    return each.block(each.calls) / each.calls


def machine() -> dict[str, Any]:
    """What the numbers were taken on."""
    import platform
    import sqlite3

    return {
        "cpus": os.cpu_count(),
        "load": [round(each, 2) for each in os.getloadavg()],
        "python": platform.python_version(),
        "sqlite": sqlite3.sqlite_version,
        "system": f"{platform.system()} {platform.machine()}",
    }
