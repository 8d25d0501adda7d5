"""The slots of a worker: how many tasks it runs at once, and which."""

from __future__ import annotations

import threading

from ..ports import Delivery

MOMENT = 0.001
"""Seconds without the end of a task, after which nobody expects the next one at once."""


class Slots:
    """At most ``size`` tasks, each in a slot of its own; a task is in one at most. One thread at a time may wait."""

    def __init__(self, size: int) -> None:
        self.size = size
        self._taken: dict[str, Delivery | None] = {}
        self._changed = threading.Condition()
        self._wanted = 1

    def take(self, task_id: str, delivery: Delivery | None) -> bool:
        """Take a slot for a task; False: it is in one already."""
        with self._changed:
            if task_id in self._taken:
                return False
            self._taken[task_id] = delivery
            return True

    def give(self, task_id: str) -> None:
        """It is done."""
        with self._changed:
            self._taken.pop(task_id, None)
            if self.free >= self._wanted:
                self._changed.notify_all()

    @property
    def free(self) -> int:
        """How many more may be taken."""
        return self.size - len(self._taken)

    @property
    def deliveries(self) -> list[Delivery]:
        """What the queue handed out and is being worked on."""
        with self._changed:
            return [delivery for delivery in self._taken.values() if delivery is not None]

    def wait_free(self, seconds: float) -> int:
        """How many are free, after at most so long as there is none."""
        with self._changed:
            self._wait(1, seconds)
            return max(0, self.free)

    def wait_more(self, seconds: float) -> int:
        """How many are free, once all are, no more become so, or ``seconds`` have passed.

        Several are begun for less each; and a slot whose task takes long is not waited for.
        """
        with self._changed:
            for _ in range(int(seconds / MOMENT)):
                before = self.free
                if self._wait(self.size, MOMENT) or self.free <= before:
                    break
            return max(0, self.free)

    def wait_empty(self, seconds: float) -> bool:
        """Whether all are free, after at most so long."""
        with self._changed:
            return self._wait(self.size, seconds)

    def _wait(self, free: int, seconds: float) -> bool:
        self._wanted = free
        return self._changed.wait_for(lambda: self.free >= free, seconds)
