"""Seeing deadlines pass: one thread for all bodies of a worker."""

from __future__ import annotations

import threading
from collections.abc import Callable
from math import inf

from ..clock import Clock

LONGEST = 60.0
"""Seconds it sleeps at most."""


class PassingDeadlines:
    """Calls back when a deadline passes; ``run`` it on a daemon thread."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._open: dict[object, tuple[float, Callable[[], None]]] = {}
        self._bell = threading.Condition()
        self._next = inf
        self._stopped = False

    def add(self, at: float, passed: Callable[[], None]) -> object:
        """Call ``passed`` once the monotonic clock shows ``at``, unless it is removed before."""
        mark = object()
        self._open[mark] = (at, passed)
        # Most deadlines are later than one that is waited for already, and cost no more than this.
        if at < self._next:
            with self._bell:
                self._next = min(at, self._next)
                self._bell.notify()
        return mark

    def remove(self, mark: object) -> None:
        """It need not be told any more."""
        self._open.pop(mark, None)

    def run(self) -> None:
        """Until :meth:`stop`."""
        while not self._stopped:
            now = self._clock.monotonic()
            for mark, (at, passed) in list(self._open.items()):
                if at <= now and self._open.pop(mark, None) is not None:
                    passed()
            with self._bell:
                # One that was removed is waited for all the same: bodies that are soon over would ring each time.
                if self._next <= now:
                    self._next = inf  # first: whoever adds from here on rings
                    self._next = min((at for at, _ in list(self._open.values())), default=inf)
                if not self._stopped:
                    self._bell.wait(max(0.0, min(LONGEST, self._next - self._clock.monotonic())))

    def stop(self) -> None:
        """Call nobody any more."""
        with self._bell:
            self._stopped = True
            self._bell.notify()
