"""The process that submits and waits: `python -m benchmarks.queue_client MODULE` serves blocks until stdin ends.

A row ``{"width": w, "calls": n}`` is answered with the seconds that n calls took, w in flight, and the median of one.
The module is one of ``rival_*`` or ``queue_ax``: its ``call`` submits and waits, on a thread or, where it is a
coroutine function, on a loop; one that has ``acall`` too makes many calls with that. A module whose client is not for
threads has ``send`` and ``wait`` instead.
"""

from __future__ import annotations

import asyncio
import inspect
import json
import os
import statistics
import sys
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from time import perf_counter
from typing import Any

Block = Callable[[int, int], list[float]]
"""That many calls with so many in flight; the seconds of each."""


def threads(call: Callable[[int], Any]) -> Block:
    """A thread for each call in flight."""
    pool = ThreadPoolExecutor(64)
    list(pool.map(lambda _: None, range(64)))

    def work(calls: int) -> list[float]:
        return [_timed(call, number) for number in range(calls)]

    def block(width: int, calls: int) -> list[float]:
        if width == 1:
            return work(calls)
        return [t for each in pool.map(work, [calls // width] * width) for t in each]

    return block


def coroutines(call: Callable[[int], Any]) -> Block:
    """A coroutine for each call in flight, on a loop that lives as long as the client."""
    loop = asyncio.new_event_loop()

    async def work(calls: int) -> list[float]:
        taken = []
        for number in range(calls):
            began = perf_counter()
            assert await call(number) == number
            taken.append(perf_counter() - began)
        return taken

    async def all_of(width: int, calls: int) -> list[list[float]]:
        return await asyncio.gather(*(work(calls // width) for _ in range(width)))

    return lambda width, calls: [t for e in loop.run_until_complete(all_of(width, calls)) for t in e]


def windows(send: Callable[[int], Any], wait: Callable[[Any], Any]) -> Block:
    """One thread that keeps so many in flight and waits for the oldest."""

    def block(width: int, calls: int) -> list[float]:
        flight: deque[tuple[int, float, Any]] = deque()
        taken: list[float] = []

        def settle() -> None:
            number, began, sent = flight.popleft()
            assert wait(sent) == number
            taken.append(perf_counter() - began)

        for number in range(calls):
            if len(flight) == width:
                settle()
            flight.append((number, perf_counter(), send(number)))
        while flight:
            settle()
        return taken

    return block


def block_of(module: Any) -> Block:
    """How a module's calls are kept in flight."""
    if hasattr(module, "send"):
        return windows(module.send, module.wait)
    if not hasattr(module, "acall"):
        return coroutines(module.call) if inspect.iscoroutinefunction(module.call) else threads(module.call)
    one, many = threads(module.call), coroutines(module.acall)
    return lambda width, calls: one(width, calls) if width == 1 else many(width, calls)


def main(name: str) -> None:
    """Serve blocks until stdin ends."""
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    block = block_of(import_module(name))
    block(1, 3)
    print(json.dumps({"ready": True}), file=out, flush=True)
    for row in sys.stdin:
        asked = json.loads(row)
        began = perf_counter()
        taken = block(asked["width"], asked["calls"])
        said = {"seconds": perf_counter() - began, "calls": len(taken), "median": statistics.median(taken)}
        print(json.dumps(said), file=out, flush=True)


def _timed(call: Callable[[int], Any], number: int) -> float:
    began = perf_counter()
    assert call(number) == number
    return perf_counter() - began


if __name__ == "__main__":
    main(sys.argv[1])
