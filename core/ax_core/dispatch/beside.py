"""A sync call made on an event loop's thread: what reads or writes a file is done on another thread meanwhile.

Whoever calls the sync form there blocks the loop for as long as the call takes; that is their choice, and a tool that
blocks nothing itself must not be refused for what AX writes (tools that look for blocking calls do refuse it).
"""

from __future__ import annotations

import _thread
import contextvars
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from queue import SimpleQueue
from typing import Any, TypeVar, cast

from ..store import Op, Store
from ..threads import Threads
from .wiring import Wiring

T = TypeVar("T")


def aside(threads: Threads, work: Callable[[], T], after: _thread.LockType | None = None) -> T:
    """Do ``work`` on another thread, once ``after`` is free, and wait for what comes of it."""
    box: SimpleQueue[tuple[Any, BaseException | None]] = SimpleQueue()
    context = contextvars.copy_context()

    def job() -> None:
        if after is not None:
            after.acquire()
        try:
            box.put((context.run(work), None))
        except BaseException as error:
            box.put((None, error))

    threads.spawn(job)
    # A queue, not a lock: on a loop's thread a lock may be watched, and this wait is meant.
    value, error = box.get()
    if error is not None:
        raise error
    return cast(T, value)


class Beside:
    """The store, for one call that is made on a loop's thread. Operations are done in the order they are asked for,
    also after Ctrl-C took the caller away from one of them."""

    def __init__(self, db: Store, threads: Threads) -> None:
        self._db, self._threads = db, threads
        self._turn = _thread.allocate_lock()

    def write(self, op: Op[T], name: str = "control", durable: bool = False) -> T:
        """As :meth:`Store.write`."""
        return self._do(partial(self._db.write, op, name, durable))

    def read(self, op: Op[T]) -> T:
        """As :meth:`Store.read`."""
        return self._do(partial(self._db.read, op))

    def flush(self) -> None:
        """As :meth:`Store.flush`."""
        self._do(self._db.flush)

    def _do(self, work: Callable[[], T]) -> T:
        after, self._turn = self._turn, _thread.allocate_lock()
        mine = self._turn
        mine.acquire()

        def in_turn() -> T:
            try:
                return work()
            finally:
                mine.release()

        return aside(self._threads, in_turn, after)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._db, name)


def beside(wiring: Wiring) -> Wiring:
    """The wiring of one call that is made on a loop's thread."""
    return replace(wiring, db=cast(Store, Beside(wiring.db, wiring.threads)))
