"""Daemon threads that are parked between jobs: a hung job costs one thread, never the interpreter's exit."""

from __future__ import annotations

import _thread
from collections import deque
from collections.abc import Callable

IDLE_SECONDS = 30.0


class _Parked:
    __slots__ = ("job", "wake")

    def __init__(self) -> None:
        self.job: Callable[[], None] | None = None
        self.wake = _thread.allocate_lock()
        self.wake.acquire()


class Threads:
    """Runs jobs on daemon threads, reusing those that came back."""

    def __init__(self) -> None:
        self._idle: deque[_Parked] = deque()

    def spawn(self, job: Callable[[], None]) -> None:
        """Start ``job`` on a thread of its own, without ever blocking; it must not raise."""
        # deque and lock operations are atomic, so this needs no lock and may be called on an event loop.
        try:
            parked = self._idle.pop()
        except IndexError:
            parked = _Parked()
            parked.job = job
            # Unlike Thread.start this does not wait for the thread to come up. Such threads are daemons.
            _thread.start_new_thread(self._live, (parked,))
            return
        parked.job = job
        parked.wake.release()

    def _live(self, parked: _Parked) -> None:
        while True:
            job, parked.job = parked.job, None
            if job is not None:
                job()
                del job
            self._idle.append(parked)
            if not parked.wake.acquire(timeout=IDLE_SECONDS):
                try:
                    self._idle.remove(parked)
                    return
                except ValueError:  # somebody took it at this very moment: its job is on the way
                    parked.wake.acquire()

    def forget(self) -> None:
        """After a fork: the threads of the parent do not exist here."""
        self._idle.clear()
