"""Waiting for a task to move: woken by this process at once, by others through a bounded re-read."""

from __future__ import annotations

import _thread
import asyncio
from collections.abc import Iterable, Mapping, Sequence
from queue import Empty, SimpleQueue

from ..clock import Clock
from ..model import TaskRow
from ..states import FINAL
from ..store import Alone, Store, tasks

FIRST_LOOK = 0.02
LAST_LOOK = 0.5
TOLD_LOOK = 0.5
"""The first pause of one who is told by whoever moves the task: looking is for when the word was lost."""


class Waiter:
    """One who waits. Use as a context manager, then :meth:`wait` or :meth:`await_`, each for one change.

    Attributes:
        found: the task as it ended, if somebody has read it already for all who wait.
    """

    __slots__ = ("_bell", "_event", "_home", "_loop", "_pause", "_task_id", "found", "wants_answer")

    def __init__(self, home: Waiters, task_id: str, wants_answer: bool, told: bool) -> None:
        self._home, self._task_id = home, task_id
        self.wants_answer = wants_answer
        self.found: TaskRow | None = None
        self._pause = TOLD_LOOK if told else FIRST_LOOK
        self._loop: asyncio.AbstractEventLoop | None = None
        self._event: asyncio.Event | None = None
        # A queue, not a lock: whoever waits on a loop's thread means to, and a lock there may be watched.
        self._bell: SimpleQueue[None] = SimpleQueue()

    def __enter__(self) -> Waiter:
        self._home.add(self._task_id, self)
        return self

    def __exit__(self, *_: object) -> None:
        self._home.remove(self._task_id, self)

    def ring(self) -> tuple[asyncio.AbstractEventLoop, asyncio.Event] | None:
        """Something moved: wake a thread, or say which event is to be set on which loop."""
        if self._loop is not None and self._event is not None:
            return self._loop, self._event
        if self._bell.empty():  # once too often does no harm
            self._bell.put(None)
        return None

    def wait(self, at_most: float | None) -> None:
        """Block until something moved, or it is time to look again."""
        pause = max(0.0, self._next(at_most))
        try:
            self._bell.get(timeout=pause)
        except Empty:
            self._home.clock.skip(pause)

    async def await_(self, at_most: float | None) -> None:
        """:meth:`wait` for an event loop."""
        if self._event is None:
            self._loop, self._event = asyncio.get_running_loop(), asyncio.Event()
            if not self._bell.empty():  # woken before there was an event to set
                return
        pause = max(0.0, self._next(at_most))
        try:
            async with asyncio.timeout(pause):
                await self._event.wait()
        except TimeoutError:
            self._home.clock.skip(pause)
        self._event.clear()

    def _next(self, at_most: float | None) -> float:
        # Another process moves it without a word, so the wait is never long.
        pause, self._pause = self._pause, min(LAST_LOOK, self._pause * 1.6)
        return pause if at_most is None else min(pause, at_most)


class Waiters:
    """Who waits for which task in this process."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self._by_task: dict[str, list[Waiter]] = {}
        self._lock = _thread.allocate_lock()

    def of(self, task_id: str, wants_answer: bool = True, told: bool = False) -> Waiter:
        """A waiter for a task.

        Args:
            wants_answer: not one that only runs it, and tells nobody.
            told: it is woken from outside when the task moves.
        """
        return Waiter(self, task_id, wants_answer, told)

    def add(self, task_id: str, waiter: Waiter) -> None:
        """Wake this one when the task moves."""
        with self._lock:
            self._by_task.setdefault(task_id, []).append(waiter)

    def remove(self, task_id: str, waiter: Waiter) -> None:
        """Forget it."""
        with self._lock:
            left = self._by_task.get(task_id, [])
            if waiter in left:
                left.remove(waiter)
            if not left:
                self._by_task.pop(task_id, None)

    def any(self, task_id: str) -> bool:
        """Whether somebody in this process wants the answer of a task."""
        return any(waiter.wants_answer for waiter in tuple(self._by_task.get(task_id, ())))

    def wake(self, task_id: str) -> None:
        """A task moved."""
        _wake(self._by_task.get(task_id, ()))

    def moved(self, task_ids: Sequence[str], over: Mapping[str, TaskRow]) -> None:
        """These tasks moved; those of them that are over stand like this."""
        waiters = []
        for task_id in task_ids:
            for waiter in tuple(self._by_task.get(task_id, ())):
                waiter.found = over.get(task_id, waiter.found)
                waiters.append(waiter)
        _wake(waiters)

    def awaited(self, task_ids: Sequence[str]) -> list[str]:
        """Those of them that somebody here waits for."""
        return [task_id for task_id in task_ids if task_id in self._by_task]


def told(waiters: Waiters, db: Store, task_ids: Sequence[str]) -> None:
    """Wake who waits for tasks that moved elsewhere; those that are over are read once, for all together."""
    awaited = waiters.awaited(task_ids)
    over = {}
    try:
        for row in db.read(Alone(lambda tx: tasks.several(tx, awaited))) if awaited else ():
            if row.state in FINAL:  # any other may have moved on by now
                over[row.id] = row
    except Exception:  # each will look for itself, and tell its caller what is wrong
        pass
    waiters.moved(awaited, over)


def _wake(waiters: Iterable[Waiter]) -> None:
    loops: dict[asyncio.AbstractEventLoop, list[asyncio.Event]] = {}
    for waiter in tuple(waiters):
        if (on := waiter.ring()) is not None:
            loop, event = on
            loops.setdefault(loop, []).append(event)
    for loop, events in loops.items():
        try:
            loop.call_soon_threadsafe(_set, events)
        except RuntimeError:  # it is closed
            pass


def _set(events: list[asyncio.Event]) -> None:
    for event in events:
        event.set()
