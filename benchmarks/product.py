"""AX itself, with a tool that does nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from time import perf_counter

from ax_core import AX, Effect
from benchmarks.shape import Shape, learn


class Product:
    """An AX on a file of its own, and blocks of calls against it."""

    def __init__(self, path: Path, effect: Effect) -> None:
        self.path, self._n = path, 0
        self.ax = AX(f"sqlite:///{path}")
        self._peek: Callable[[], None] | None = None
        self.ax.register(self._nothing, name="nothing", policy=effect)
        self.ax.register(_nothing_async, name="nothing_async", policy=effect)
        self.ax.call("nothing", {"x": -1})

    def _nothing(self, x: int) -> int:
        """Do nothing."""
        if self._peek is not None:
            self._peek()
        return x

    def shape(self) -> Shape:
        """The rows that one call writes, before and after its body."""

        def call(peek: Callable[[], None]) -> None:
            self._peek = peek
            try:
                self.ax.call("nothing", {"x": self._next()})
            finally:
                self._peek = None

        return learn(str(self.path), call)

    def block(self, calls: int) -> float:
        """That many calls, one after the other."""
        start = self._next(calls)
        call = self.ax.call
        began = perf_counter()
        for number in range(start, start + calls):
            call("nothing", {"x": number})
        return perf_counter() - began

    def threads(self, width: int) -> Callable[[int], float]:
        """Blocks with that many threads in flight."""
        pool = ThreadPoolExecutor(width)
        list(pool.map(lambda _: None, range(width)))

        def block(calls: int) -> float:
            start, each = self._next(calls), calls // width

            def work(place: int) -> None:
                for number in range(start + place * each, start + (place + 1) * each):
                    self.ax.call("nothing", {"x": number})

            began = perf_counter()
            list(pool.map(work, range(width)))
            return perf_counter() - began

        return block

    def coroutines(self, width: int) -> Callable[[int], float]:
        """Blocks with that many coroutines in flight on one loop."""

        async def flight(start: int, each: int) -> float:
            async def work(place: int) -> None:
                for number in range(start + place * each, start + (place + 1) * each):
                    await self.ax.acall("nothing_async", {"x": number})

            began = perf_counter()
            await asyncio.gather(*(work(place) for place in range(width)))
            return perf_counter() - began

        return lambda calls: asyncio.run(flight(self._next(calls), calls // width))

    def close(self) -> None:
        """Let go of the file."""
        self.ax.close()

    def _next(self, calls: int = 1) -> int:
        start, self._n = self._n, self._n + calls
        return start


async def _nothing_async(x: int) -> int:
    """Do nothing."""
    return x
