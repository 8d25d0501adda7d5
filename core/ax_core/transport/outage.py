"""An outage: said once however many threads see it, and asked after with growing pauses."""

from __future__ import annotations

import logging
from collections.abc import Callable

from ..clock import Clock
from ..errors import TransportError

Complain = Callable[[str, BaseException], None]
"""Told of what went wrong where no caller can be told."""

FIRST_PAUSE, LAST_PAUSE = 0.05, 1.0


class Outage:
    """Whether the server of one transport is away."""

    def __init__(self, shown: str, clock: Clock, complain: Complain) -> None:
        self._shown, self._clock, self._complain = shown, clock, complain
        self.error: TransportError | None = None

    def begun(self, cause: BaseException) -> TransportError:
        """A connection was lost or not to be had; what to raise."""
        error = TransportError(f"the queue at {self._shown} is away: {type(cause).__name__}: {cause}")
        error.__cause__ = cause
        before, self.error = self.error, error
        if before is None:
            self._complain(f"the queue at {self._shown} is away; nothing is lost, the database has it", cause)
        return error

    def over(self) -> None:
        """It answered."""
        if self.error is not None:
            self.error = None
            logging.getLogger("ax").info("the queue at %s is back", self._shown)


class Pause:
    """How long one connection is left alone after it failed: twice as long each time up to a second, with jitter."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._failed = 0
        self._until = 0.0

    @property
    def left(self) -> float:
        """Seconds until it may be tried again."""
        return self._until - self._clock.monotonic() if self._failed else 0.0

    def failed(self) -> None:
        """It failed once more."""
        pause = min(LAST_PAUSE, FIRST_PAUSE * 2 ** min(self._failed, 10))
        self._failed += 1
        self._until = self._clock.monotonic() + pause * (0.5 + self._clock.random() / 2)

    def over(self) -> None:
        """It works."""
        self._failed = 0
