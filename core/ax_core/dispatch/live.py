"""The attempts that run in this process right now: whom to renew, to warn about, and to ask to stop."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from ..decide import Outcome
from ..errors import StoreError
from ..model import TaskRow
from ..store import Op
from .context import Context

KEPT = 1_000
"""Ends that wait for a store that does not take them; of more the oldest are let go, and their leases expire."""


@dataclass(eq=False, slots=True)
class OpenAttempt:
    """One attempt whose body has not ended yet.

    Attributes:
        since: when it started, as a reading of the monotonic clock.
        stop: cuts an async body off, if it is one; thread-safe.
        expire: writes the end of one whose own loop cannot: it is too blocked, or closed.
        orphaned: whether its loop was closed under it, so that it will never end.
        warned: its overdue alert was raised.
        given_up: its end was recorded without it; it may still be running.
        ended: its body is over, and only its end is not recorded yet.
    """

    row: TaskRow
    context: Context
    since: float
    stop: Callable[[], None] | None = None
    expire: Callable[[Outcome], Op[Any]] | None = None
    orphaned: Callable[[], bool] | None = None
    warned: bool = False
    given_up: bool = False
    ended: bool = False


class Live:
    """The open attempts of one process.

    Attributes:
        closed: this AX is closing: what runs may end and be recorded, but nothing that waited starts any more.
        unrecorded: what writes the ends that the store did not take.
    """

    def __init__(self) -> None:
        self.closed = False
        self.unrecorded: deque[Op[Any]] = deque(maxlen=KEPT)
        self._open: dict[tuple[str, int], OpenAttempt] = {}
        self._promised: set[object] = set()

    def add(self, attempt: OpenAttempt) -> None:
        """An attempt starts."""
        self._open[attempt.row.id, attempt.row.fence] = attempt

    def remove(self, attempt: OpenAttempt) -> None:
        """Its body ended."""
        self._open.pop((attempt.row.id, attempt.row.fence), None)

    def promise(self) -> Callable[[], None]:
        """A submitted task will be seen through by a thread that may not have begun; call the answer when it was."""
        mark = object()
        self._promised.add(mark)
        return lambda: self._promised.discard(mark)

    def all(self) -> list[OpenAttempt]:
        """A snapshot of them."""
        return list(self._open.values())

    def record(self, write: Callable[[Op[Any]], object]) -> None:
        """Write the ends that the store did not take.

        Raises:
            StoreError: it still does not take one of them; that one comes last next time.
        """
        for end in tuple(self.unrecorded):
            try:
                write(end)
            except StoreError:
                self.unrecorded.rotate(-1)
                raise
            except BaseException:
                self._recorded(end)
                raise
            self._recorded(end)

    def _recorded(self, end: Op[Any]) -> None:
        with suppress(ValueError):  # so many came meanwhile that it was let go
            self.unrecorded.remove(end)

    def find(self, task_id: str) -> OpenAttempt | None:
        """The newest open attempt of a task in this process."""
        found = [a for (task, _), a in list(self._open.items()) if task == task_id]
        return max(found, key=lambda a: a.row.fence, default=None)

    def __len__(self) -> int:
        return len(self._open) + len(self._promised) + len(self.unrecorded)
