"""``python -m benchmarks.scaling``: the simulation beside what is measured here; then sizes that no one machine shows.

What a call costs depends on how many come together, as they share commits and round trips. So it is measured twice, one
call at a time and many at once, and each size is played with both.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks.queue_party import Party
from benchmarks.servers import RedisServer
from benchmarks.simulation import Costs, Counts, Size, play

MANY = 32
COMPARED = ((1, 8), (1, 64), (2, 8), (2, 64))
"""Workers and calls in flight of the runs that are predicted and measured."""


@dataclass(frozen=True)
class Measured:
    """A run: calls per second, what one cost, and the machine's load at its end."""

    rate: float
    costs: Costs
    load: float

    @property
    def cores(self) -> float:
        """How many cores its client and workers kept busy."""
        return self.rate * (self.costs.client + self.costs.worker)


def measured(folder: Path, redis: str, workers: int, width: int, calls: int) -> Measured:
    """One client and so many workers for real, so many calls in flight, with a SQLite file as the truth."""
    given = {"AX_BENCH_DB": f"sqlite:///{folder}.db", "AX_BENCH_REDIS": f"{redis}?prefix={folder.name}"}
    party = Party(
        folder.name, "benchmarks.queue_ax", folder, slots=max(width, 8), given=given, workers=workers
    )
    try:
        party.turn(width, max(calls // 4, 20))
        turn = party.turn(width, calls)
    finally:
        party.close()
    waits = max(0.0, 1 / turn.rate - turn.cpu) if width == 1 else 0.0
    return Measured(turn.rate, Costs(turn.client_cpu, turn.cpu - turn.client_cpu, waits), os.getloadavg()[0])


def between(alone: Costs, many: Costs, size: Size) -> str:
    """Calls per second where each call costs what it costs alone, and where it costs what it costs among many."""
    slow, fast = sorted(play(costs, size).rate for costs in (alone, many))
    return f"{slow:,.0f} – {fast:,.0f}"


def main() -> None:
    """Measure, compare, predict."""
    asked = argparse.ArgumentParser(description=main.__doc__)
    asked.add_argument("--cores", type=int, nargs="*", default=[2, 8, 32, 128], help="sizes to play")
    asked.add_argument("--here", type=int, default=os.cpu_count() or 1, help="cores of this machine")
    given = asked.parse_args()
    console = Console()
    with tempfile.TemporaryDirectory() as temporary, RedisServer(Path(temporary, "redis")) as redis:
        folder = Path(temporary)
        alone, many = (
            measured(folder / f"costs{width}", redis.url, 1, width, calls)
            for width, calls in ((1, 400), (MANY, 4000))
        )
        costs = Costs(many.costs.client, many.costs.worker, alone.costs.waits)
        for name, each in (("alone", alone.costs), (f"{MANY} at once", costs)):
            console.print(
                f"a call {name}: client {each.client * 1e3:.2f} ms of CPU, worker {each.worker * 1e3:.2f}, "
                f"waits {each.waits * 1e3:.2f}"
            )
        here = Table(
            "workers", "in flight", "measured", "simulated", "cores used", "load", title="calls per second"
        )
        for workers, width in COMPARED:
            real = measured(folder / f"w{workers}x{width}", redis.url, workers, width, 3000)
            played = between(alone.costs, costs, Size(1, workers, given.here, width))
            used = f"{real.cores:.1f} of {given.here}"
            here.add_row(str(workers), str(width), f"{real.rate:,.0f}", played, used, f"{real.load:.1f}")
        console.print(here)
    sizes = Table("cores", "calls per second", "commits, at most", "messages, at most", title="simulated")
    for cores in given.cores:
        half = max(1, cores // 2)
        size = Size(half, half, cores, MANY * half)
        most = play(costs, size).rate
        sizes.add_row(
            str(cores),
            between(alone.costs, costs, size),
            f"{most * Counts.commits:,.0f}",
            f"{most * Counts.messages:,.0f}",
        )
    console.print(sizes)


if __name__ == "__main__":
    main()
