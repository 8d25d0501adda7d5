"""The reading side of the database: each operation on one consistent snapshot, on a connection of its own."""

from __future__ import annotations

import _thread
import time
from collections import deque
from collections.abc import Callable
from typing import Any, TypeVar

from ..threads import Threads
from .dialects import Dialect
from .errands import Errands
from .tx import Op, Tx

T = TypeVar("T")
HELPERS = 8
"""Threads that read for event loops at the same time; further operations wait for one of them."""


class Reads:
    """Runs read operations on a pool of connections that grows to as many as read at the same time."""

    def __init__(self, connect: Callable[[], Any], dialect: Dialect, threads: Threads, where: str) -> None:
        self._connect, self._dialect, self._where = connect, dialect, where
        self._idle: deque[Any] = deque()
        self._errands = Errands(threads, HELPERS)
        self._busy: deque[None] = deque()
        self._gate: _thread.LockType | None = None
        self._closed = False

    def run(self, op: Op[T]) -> T:
        """Run ``op`` on one consistent snapshot, on this thread.

        Raises:
            StoreError: the database refused.
        """
        raw = None
        try:
            self._begin()
            raw = self._take()
            try:
                return self._on(raw, op)
            except Exception as error:
                if not self._dialect.odd_text(error):
                    raise
                return self._leniently(raw, op)
        except Exception as error:
            if not self._dialect.refused(error):
                raise
            # Who knows in what state it is: the next one gets a new connection.
            broken, raw = raw, None
            if broken is not None:
                broken.close()
            raise self._dialect.explain(error, self._where) from error
        finally:
            if raw is not None:
                self._give_back(raw)
            self._busy.pop()

    async def arun(self, op: Op[T]) -> T:
        """:meth:`run` on a helper thread."""
        return await self._errands.ask(lambda: self.run(op))

    def rest(self, seconds: float) -> bool:
        """Hold still with no connection open, until :meth:`go_on`; False: it does not come to that in time."""
        gate = _thread.allocate_lock()
        gate.acquire()
        self._gate = gate
        give_up = time.monotonic() + seconds
        while self._busy and time.monotonic() < give_up:
            time.sleep(0.001)  # a read is over in less, and tells nobody
        self._close_idle()
        return not self._busy

    def go_on(self) -> None:
        """The end of a rest."""
        gate, self._gate = self._gate, None
        if gate is not None:
            gate.release()

    def close(self) -> None:
        """Close every connection; those in use as soon as they are not."""
        self._closed = True
        self._close_idle()

    def _close_idle(self) -> None:
        while True:
            try:
                self._idle.pop().close()
            except IndexError:
                return

    def _begin(self) -> None:
        self._busy.append(None)
        while (gate := self._gate) is not None:
            self._busy.pop()
            with gate:
                pass
            self._busy.append(None)

    def _on(self, raw: Any, op: Op[T]) -> T:
        raw.execute("BEGIN")
        try:
            return op(Tx(raw.cursor(), self._dialect))
        finally:
            if raw.in_transaction:
                raw.execute("ROLLBACK")

    def _leniently(self, raw: Any, op: Op[T]) -> T:
        """Once more, for a row with text that is none: shown as good as may be, it hides no other row."""
        self._dialect.lenient(raw, True)
        try:
            return self._on(raw, op)
        finally:
            self._dialect.lenient(raw, False)

    def _take(self) -> Any:
        try:
            return self._idle.pop()
        except IndexError:
            return self._connect()

    def _give_back(self, raw: Any) -> None:
        self._idle.append(raw)
        if self._closed:
            self._close_idle()
