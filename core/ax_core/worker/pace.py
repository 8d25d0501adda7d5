"""The pace of one worker: how many tasks it begins a second, at most."""

from __future__ import annotations

import threading

from ..clock import Clock
from ..errors import PolicyError

LATE_SECONDS = 0.05
"""What a loop that comes late may make up for."""


class Pace:
    """So many a second, evenly.

    Args:
        most: tasks per second; None: as many as there is room for.

    Raises:
        PolicyError: it is not above zero.
    """

    def __init__(self, most: float | None, clock: Clock) -> None:
        if most is not None and not most > 0:
            raise PolicyError(f"max_rate={most!r} must be tasks per second, above zero")
        self._most, self._clock = most, clock
        self._in_hand = 1.0 + (most or 0.0) * LATE_SECONDS
        self._left, self._since = 1.0, clock.monotonic()
        self._lock = threading.Lock()

    def room(self, most: int) -> int:
        """How many of ``most`` may be begun now."""
        if self._most is None:
            return most
        with self._lock:
            self._earn()
            return max(0, min(most, int(self._left)))

    def spend(self, tasks: int = 1) -> None:
        """So many were begun; a negative number: they were not."""
        with self._lock:
            self._left -= tasks

    @property
    def wait(self) -> float:
        """Seconds until one may be begun."""
        if self._most is None:
            return 0.0
        with self._lock:
            self._earn()
            return max(0.0, (1.0 - self._left) / self._most)

    def _earn(self) -> None:
        now = self._clock.monotonic()
        self._left = min(self._in_hand, self._left + (now - self._since) * (self._most or 0.0))
        self._since = now
