"""How load grows with clients and workers, played: a closed system of processes on shared cores.

The database and Redis are no stations of it but a wait; what they are asked for is :class:`Counts` times the rate.
"""

from __future__ import annotations

import heapq
import itertools
import random
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass


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
