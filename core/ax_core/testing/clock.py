"""A clock that stands still until it is moved."""

from __future__ import annotations

import random
import threading
from datetime import UTC, datetime, timedelta

from ..clock import Micros, uuid7

START = datetime(2026, 1, 1, tzinfo=UTC)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


class FakeClock:
    """Time that a test moves; ids and chance follow from the seed, so two runs of a test see the same.

    Args:
        start: what it shows at first.
        jumps: a caller that only waits for time to pass (a retry that is due later) moves the clock there instead
            of waiting, and a wait that really went by counts. False: nothing but :meth:`advance` moves it, so a
            caller waits until another thread calls that.
    """

    def __init__(self, start: datetime = START, *, seed: int = 0, jumps: bool = True) -> None:
        if start.tzinfo is None:
            raise ValueError("start must know its time zone: datetime(…, tzinfo=UTC)")
        self._began: Micros = (start - _EPOCH) // _MICROSECOND
        self._passed: Micros = 0
        self._jumps = jumps
        self._chance = random.Random(seed)
        self._last_stamp = 0
        self._lock = threading.Lock()

    def advance(self, seconds: float) -> None:
        """Let so much time pass.

        Raises:
            ValueError: time does not go backwards.
        """
        if not seconds >= 0:
            raise ValueError(f"advance({seconds!r}): time does not go backwards")
        with self._lock:
            self._passed += round(seconds * 1e6)

    @property
    def at(self) -> datetime:
        """What the clock shows, as people read it."""
        return _EPOCH + timedelta(microseconds=self.now())

    def now(self) -> Micros:
        return self._began + self._passed

    def monotonic(self) -> float:
        return self._passed / 1e6

    def random(self) -> float:
        return self._chance.random()

    def new_id(self) -> str:
        with self._lock:
            # As the machine's clock makes them: in the order of creation, also within a millisecond.
            self._last_stamp = stamp = max((self.now() // 1000) << 12, self._last_stamp + 1)
            return uuid7(stamp >> 12, stamp & 0xFFF, self._chance.getrandbits(64))

    def skip(self, seconds: float) -> bool:
        if self._jumps:
            self.advance(max(0.0, seconds))
        return self._jumps
