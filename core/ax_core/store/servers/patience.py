"""How long an operation is tried again, and how far apart: the wait doubles, and no two wait alike."""

from __future__ import annotations

import time

from ...clock import Clock

FIRST, LONGEST = 0.01, 1.0


class Patience:
    """The time that one operation has for all its tries.

    Args:
        clock: for chance only; the waiting is real.
    """

    def __init__(self, clock: Clock, seconds: float) -> None:
        self._clock, self._end, self._pause = clock, time.monotonic() + seconds, FIRST

    @property
    def left(self) -> float:
        """Seconds that are left."""
        return max(0.0, self._end - time.monotonic())

    def wait(self) -> bool:
        """Wait before the next try; False: there is no time for one."""
        left = self.left
        if left <= 0:
            return False
        time.sleep(min(left, self._pause * (0.5 + self._clock.random())))
        self._pause = min(LONGEST, self._pause * 2)
        return True
