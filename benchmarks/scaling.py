"""How load grows with clients and workers: a simulation, fed with costs measured here and checked against runs here.

``python -m benchmarks.scaling`` measures one client with one worker, predicts two workers and other widths, measures
these too, and prints both beside each other; then it plays the sizes that are asked for, which no one machine shows.
"""

from __future__ import annotations

import argparse
import heapq
import itertools
import random
import tempfile
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from benchmarks.queue_party import Party
from benchmarks.servers import RedisServer


@dataclass(frozen=True)
class Costs:
    """What one call takes, in seconds: CPU of its client and of its worker, and what it waits for beside these."""

    client: float
    worker: float
    waits: float


@dataclass(frozen=True)
class Counts:
    """What one call of a worker's tool asks of what is shared; a test holds it against counted calls.

    Attributes:
        commits: writing transactions; calls that come together share them, so this is the most.
        messages: round trips to Redis that carry a job, shared likewise.
        rows: rows that stay.
    """

    commits: int = 3
    messages: int = 3
    rows: int = 4


@dataclass(frozen=True)
class Size:
    """A deployment. ``cores`` are shared by clients and workers; each process uses one of them at a time."""

    clients: int
    workers: int
    cores: int
    in_flight: int


@dataclass(frozen=True)
class Played:
    """What came out: calls per second, and the mean seconds of one."""

    rate: float
    latency: float


class Processes:
    """Processes on shared cores: a burst of CPU needs its process, which does one thing at a time, and a core."""

    def __init__(self, count: int, cores: int, after: Callable[[float, Callable[[], None]], None]) -> None:
        self._queues: list[deque[tuple[float, Callable[[], None]]]] = [deque() for _ in range(count)]
        self._busy = [False] * count
        self._ready: deque[int] = deque()
        self._cores, self._after = cores, after

    def run(self, process: int, seconds: float, then: Callable[[], None]) -> None:
        """A burst of so many seconds on a process; calls back at its end."""
        self._queues[process].append((seconds, then))
        if not self._busy[process]:
            self._busy[process] = True
            self._ready.append(process)
            self._start()

    def shortest(self, first: int, last: int) -> int:
        """The process with the fewest bursts before it, of those from ``first`` to before ``last``."""
        return min(range(first, last), key=lambda at: (len(self._queues[at]) + self._busy[at], at))

    def _start(self) -> None:
        while self._ready and self._cores > 0:
            process = self._ready.popleft()
            self._cores -= 1
            seconds, then = self._queues[process].popleft()
            self._after(seconds, lambda process=process, then=then: self._ended(process, then))  # type: ignore[misc]

    def _ended(self, process: int, then: Callable[[], None]) -> None:
        self._cores += 1
        if self._queues[process]:
            self._ready.append(process)
        else:
            self._busy[process] = False
        then()
        self._start()


def play(costs: Costs, size: Size, calls: int = 20_000, seed: int = 1) -> Played:
    """Simulate a closed system: each of ``in_flight`` callers makes its next call when its last one is answered."""
    draw, order = random.Random(seed), itertools.count()
    now, done, sums = 0.0, 0, 0.0
    events: list[tuple[float, int, Callable[[], None]]] = []
    warm, counted_from = calls // 10, 0.0

    def after(seconds: float, then: Callable[[], None]) -> None:
        heapq.heappush(events, (now + seconds, next(order), then))

    processes = Processes(size.clients + size.workers, size.cores, after)

    def call(client: int) -> None:
        began = now
        halves = [draw.expovariate(2 / costs.waits) if costs.waits > 0 else 0.0 for _ in range(2)]
        asks = draw.expovariate(2 / costs.client)

        def work() -> None:
            worker = processes.shortest(size.clients, size.clients + size.workers)
            processes.run(worker, draw.expovariate(1 / costs.worker), lambda: after(halves[1], hear))

        def hear() -> None:
            processes.run(client, draw.expovariate(2 / costs.client), answered)

        def answered() -> None:
            nonlocal done, sums, counted_from
            done += 1
            if done == warm:
                counted_from = now
            elif done > warm:
                sums += now - began
            call(client)

        processes.run(client, asks, lambda: after(halves[0], work))

    for caller in range(size.in_flight):
        call(caller % size.clients)
    while done < calls + warm:
        now, _, then = heapq.heappop(events)
        then()
    return Played(calls / (now - counted_from), sums / calls)


def measured(folder: Path, redis: str, workers: int, width: int, calls: int) -> tuple[Costs, Played]:
    """One client and so many workers for real, with a SQLite file as the truth."""
    given = {"AX_BENCH_DB": f"sqlite:///{folder}.db", "AX_BENCH_REDIS": f"{redis}?prefix={folder.name}"}
    party = Party(
        folder.name, "benchmarks.queue_ax", folder, slots=max(width, 8), given=given, workers=workers
    )
    try:
        party.turn(width, max(calls // 4, 20))
        turn = party.turn(width, calls)
    finally:
        party.close()
    worker = turn.cpu - turn.client_cpu
    latency = width / turn.rate
    waits = max(0.0, latency - turn.cpu) if width == 1 else 0.0
    return Costs(turn.client_cpu, worker, waits), Played(turn.rate, latency)


def main() -> None:
    """Measure, compare, predict."""
    asked = argparse.ArgumentParser(description=main.__doc__)
    asked.add_argument("--cores", type=int, nargs="*", default=[2, 8, 32, 128])
    asked.add_argument("--here", type=int, default=2, help="cores of this machine")
    given = asked.parse_args()
    with tempfile.TemporaryDirectory() as temporary, RedisServer(Path(temporary, "redis")) as redis:
        folder = Path(temporary)
        alone, one = measured(folder / "w1x1", redis.url, 1, 1, 400)
        busy, _ = measured(folder / "w1x32", redis.url, 1, 32, 4000)
        costs = Costs(busy.client, busy.worker, alone.waits)
        print(f"one call: client {costs.client * 1e3:.2f} ms of CPU, worker {costs.worker * 1e3:.2f}, ")
        print(f"          {costs.waits * 1e3:.2f} ms of waiting; alone {one.latency * 1e3:.2f} ms")
        print("\nmeasured and simulated, calls per second:")
        for workers, width in ((1, 8), (1, 64), (2, 64)):
            spent, real = measured(folder / f"w{workers}x{width}", redis.url, workers, width, 3000)
            used = real.rate * (spent.client + spent.worker)
            played = play(costs, Size(1, workers, given.here, width))
            off = 100 * (played.rate / real.rate - 1)
            print(
                f"  {workers} worker(s), {width:2} in flight: {real.rate:6.0f}  {played.rate:6.0f}  ({off:+.0f} %); "
                f"it used {used:.1f} of {given.here} cores"
            )
    each = Counts()
    print("\nsimulated, half of the cores for clients:")
    for cores in given.cores:
        half = max(1, cores // 2)
        played = play(costs, Size(half, half, cores, 32 * half))
        print(
            f"  {cores:4} cores: {played.rate:8.0f} calls per second, {played.latency * 1e3:6.1f} ms each;",
            end=" ",
        )
        print(
            f"at most {played.rate * each.commits:.0f} commits and {played.rate * each.messages:.0f} messages"
        )


if __name__ == "__main__":
    main()
