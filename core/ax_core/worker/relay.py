"""Jobs beside each other on as few threads as they need."""

from __future__ import annotations

import _thread
from collections import deque
from collections.abc import Callable

from ..threads import Threads

Job = Callable[[], None]


class Relay:
    """Whoever takes a job calls a further thread for those behind it: one that blocks keeps no other waiting.

    One that is soon over costs no thread: whoever ran it takes the next, mostly before the thread that was called came.
    """

    def __init__(self, threads: Threads) -> None:
        self._threads = threads
        self._jobs: deque[Job] = deque()
        self._called = _thread.allocate_lock()

    def add(self, *jobs: Job) -> None:
        """Run these on other threads, without ever blocking; none may raise."""
        if jobs:
            self._jobs.extend(jobs)
            self._call()

    def _come(self) -> None:
        self._called.release()
        while True:
            try:
                job = self._jobs.popleft()
            except IndexError:
                return
            if self._jobs:
                self._call()
            job()

    def _call(self) -> None:
        # One on its way is enough: it has not looked yet, and calls the next.
        if self._called.acquire(False):
            try:
                self._threads.spawn(self._come)
            except RuntimeError:  # no further thread is to be had: those that run take these too
                self._called.release()
