"""Worker processes under a supervisor: whoever ended is started anew."""

from __future__ import annotations

from collections.abc import Callable
from typing import Self

from support.workers import WorkerProcess


class Crew:
    """So many places, each with a worker in it; use as a context manager.

    Args:
        start: starts the worker of a place.
    """

    def __init__(self, size: int, start: Callable[[int], WorkerProcess]) -> None:
        self._size, self._start = size, start
        self._at: dict[int, WorkerProcess] = {}
        self.ends: list[int] = []

    def __enter__(self) -> Self:
        for place in range(self._size):
            self._at[place] = self._start(place)
        try:
            for worker in self._at.values():
                worker.__enter__()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        for worker in self._at.values():
            if worker.child.poll() is None:
                worker.resume()
                worker.terminate()
        for worker in self._at.values():
            worker.__exit__()

    def look(self) -> None:
        """Start anew whoever has ended, and did not merely just begin to end."""
        for place, worker in self._at.items():
            if (code := worker.child.poll()) is not None:
                self.ends.append(code)
                self._at[place] = self._start(place)

    def kill(self, place: int) -> None:
        """kill -9."""
        self._at[place].kill()

    def terminate(self, place: int) -> None:
        """SIGTERM."""
        self._signal(place, WorkerProcess.terminate)

    def stop(self, place: int) -> WorkerProcess:
        """SIGSTOP; who it was."""
        self._signal(place, WorkerProcess.pause)
        return self._at[place]

    def _signal(self, place: int, send: Callable[[WorkerProcess], None]) -> None:
        if self._at[place].child.poll() is None:
            send(self._at[place])
