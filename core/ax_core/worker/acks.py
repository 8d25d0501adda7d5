"""Taking what is over off the queue: those that end at the same time go in one round trip."""

from __future__ import annotations

import _thread
from collections import deque

from ..ports import Delivery, Source


class Acks:
    """Whoever comes while others are being taken off leaves it to the thread that does that."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._waiting: deque[Delivery] = deque()
        self._busy = _thread.allocate_lock()

    def done(self, delivery: Delivery) -> None:
        """Its outcome is committed: it goes off the queue, and its client is woken, now or in a moment."""
        self._waiting.append(delivery)
        # Looked at again after each letting go, so that nobody who found it busy is left behind.
        while self._waiting and self._busy.acquire(False):
            try:
                self._source.done(self._taken())
            finally:
                self._busy.release()

    def _taken(self) -> list[Delivery]:
        return [self._waiting.popleft() for _ in range(len(self._waiting))]
