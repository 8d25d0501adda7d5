"""The slots of a worker: how many tasks it runs at once, and which."""

from __future__ import annotations

import threading

from ..ports import Delivery


class Slots:
    """At most ``size`` tasks, each in a slot of its own; a task is in one at most."""

    def __init__(self, size: int) -> None:
        self.size = size
        self._taken: dict[str, Delivery | None] = {}
        self._changed = threading.Condition()

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
            self._changed.wait_for(lambda: self.free > 0, seconds)
            return max(0, self.free)

    def wait_more(self, seconds: float) -> int:
        """How many are free, once it is half of them or ``seconds`` have passed: several are begun for less each."""
        with self._changed:
            self._changed.wait_for(lambda: 2 * self.free >= self.size, seconds)
            return max(0, self.free)

    def wait_empty(self, seconds: float) -> bool:
        """Whether all are free, after at most so long."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._taken, seconds)
