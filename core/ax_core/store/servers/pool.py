"""Connections of one kind: made when they are needed, kept when they are not, never more than so many."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from typing import Any

from ...errors import StoreError


class Pool:
    """The most recently used connection is taken first, so that those left over grow old and are noticed.

    Args:
        connect: opens one; raises what the driver raises.
        size: how many there may be at a time.
    """

    def __init__(self, connect: Callable[[], Any], size: int, where: str) -> None:
        self._connect, self._size, self._where = connect, size, where
        self._idle: deque[Any] = deque()
        self._room = threading.Semaphore(size)
        self._closed = False

    def take(self, seconds: float) -> Any:
        """A connection for this thread alone, until it is given back or dropped.

        Raises:
            StoreError: all of them were in use all the time.
        """
        if not self._room.acquire(timeout=max(0.0, seconds)):
            raise StoreError(
                f"all {self._size} connections of this process to {self._where} were in use for {seconds:.0f} s: "
                "the database is too slow for so many callers; nothing was stored"
            )
        try:
            return self._idle.pop()
        except IndexError:
            pass
        try:
            return self._connect()
        except BaseException:
            self._room.release()
            raise

    def adopt(self, raw: Any) -> None:
        """A connection that was opened elsewhere and is in order."""
        self._idle.append(raw)

    def give_back(self, raw: Any) -> None:
        """It is in order, and in no transaction."""
        self._idle.append(raw)
        self._room.release()
        if self._closed:
            self.forget()

    def drop(self, raw: Any) -> None:
        """Nobody knows in what state it is."""
        close(raw)
        self._room.release()

    def forget(self) -> None:
        """Close those that lie idle: where one was cut off the others may be as well."""
        while True:
            try:
                close(self._idle.pop())
            except IndexError:
                return

    def close(self) -> None:
        """Close every connection; those in use as soon as they are not."""
        self._closed = True
        self.forget()


def close(raw: Any) -> None:
    """Close a connection, whatever state it is in."""
    try:
        raw.close()
    except Exception:  # it was closed already, by the other side
        pass
