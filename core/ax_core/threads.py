"""Daemon threads that are parked between jobs: a hung job costs one thread, never the interpreter's exit."""

from __future__ import annotations

import _thread
import os
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
        # By process: a forked child has none of its parent's threads.
        self._idle: dict[int, deque[_Parked]] = {}

    def spawn(self, job: Callable[[], None]) -> None:
        """Start ``job`` on a thread of its own, without ever blocking; it must not raise."""
        # dict, deque and lock operations are atomic, so this needs no lock and may be called on an event loop.
        pid = os.getpid()
        idle = self._idle.get(pid)
        if idle is None:
            idle = self._idle.setdefault(pid, deque())
        try:
            parked = idle.pop()
        except IndexError:
            parked = _Parked()
            parked.job = job
            # Unlike Thread.start this does not wait for the thread to come up. Such threads are daemons.
            _thread.start_new_thread(self._live, (parked, idle))
            return
        parked.job = job
        parked.wake.release()

    def _live(self, parked: _Parked, idle: deque[_Parked]) -> None:
        while True:
            job, parked.job = parked.job, None
            if job is not None:
                job()
                del job
            idle.append(parked)
            if not parked.wake.acquire(timeout=IDLE_SECONDS):
                try:
                    idle.remove(parked)
                    return
                except ValueError:  # somebody took it at this very moment: its job is on the way
                    parked.wake.acquire()
