"""The database's clock, as every process that uses it sees it: leases and deadlines mean the same to all of them."""

from __future__ import annotations

from ...clock import Clock, Micros, uuid7

DOUBTFUL_SECONDS = 0.5
"""A measurement that took longer says little, and is used only where there is none yet."""


class DatabaseClock:
    """What the server's clock showed when it was asked last, plus what this process's steady clock has counted since.

    This machine's own date is never looked at: it may be wrong, or be set while the process runs.
    """

    def __init__(self, own: Clock) -> None:
        self._own = own
        self._mark: tuple[float, Micros] | None = None
        self._shift = 0  # of ids, in milliseconds

    def measured(self, shown: Micros, before: float, after: float) -> None:
        """The server's clock showed this, at some time between two readings of :meth:`monotonic`."""
        if self._mark is not None and after - before > DOUBTFUL_SECONDS:
            return
        self._mark = ((before + after) / 2, shown)
        shift = (self.now() - self._own.now()) // 1000
        # Ids keep their order within a process as long as this stays as it is.
        if abs(shift - self._shift) >= 1000:
            self._shift = shift

    def now(self) -> Micros:
        mark = self._mark
        if mark is None:
            return self._own.now()
        return mark[1] + int((self._own.monotonic() - mark[0]) * 1e6)

    def monotonic(self) -> float:
        return self._own.monotonic()

    def random(self) -> float:
        return self._own.random()

    def skip(self, seconds: float) -> bool:
        return self._own.skip(seconds)

    def new_id(self) -> str:
        made = self._own.new_id()
        if not self._shift:
            return made
        # Sorted by the time of creation among processes too, whatever their own clocks say.
        number = int(made.replace("-", ""), 16)
        return uuid7((number >> 80) + self._shift, number >> 64 & 0xFFF, number)
