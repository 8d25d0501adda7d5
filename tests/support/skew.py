"""A clock that runs like the machine's, and can be pushed ahead: what takes a day takes one line."""

from __future__ import annotations

from ax_core.clock import Micros, SystemClock, micros


class Skew:
    """Real time plus what :meth:`ahead` added; chance is whatever the test says.

    Attributes:
        chance: what :meth:`random` answers; None: what chance says.
    """

    def __init__(self, chance: float | None = 0.5) -> None:
        self._real, self._ahead, self.chance = SystemClock(), 0.0, chance

    def ahead(self, seconds: float) -> None:
        """Let so much time have passed."""
        self._ahead += seconds

    def now(self) -> Micros:
        return self._real.now() + micros(self._ahead)

    def monotonic(self) -> float:
        return self._real.monotonic() + self._ahead

    def new_id(self) -> str:
        return self._real.new_id()

    def random(self) -> float:
        return self._real.random() if self.chance is None else self.chance

    def skip(self, seconds: float) -> bool:
        return False
