"""The reading side on a server: each operation on one consistent snapshot."""

from __future__ import annotations

from typing import Any, TypeVar

from ...clock import Clock
from ..tx import Alone, Op, Tx
from .dialect import ServerDialect
from .patience import Patience
from .pool import Pool

T = TypeVar("T")


class ServerReads:
    """Runs read operations on the connections of a pool; one that was cut off is run again."""

    def __init__(self, pool: Pool, dialect: ServerDialect, clock: Clock, where: str, seconds: float) -> None:
        self._pool, self._dialect, self._clock, self._where = pool, dialect, clock, where
        self._seconds = seconds

    def run(self, op: Op[T]) -> T:
        """Run ``op`` on one consistent snapshot, on this thread.

        Raises:
            StoreError: the database refused, or did not come back in time.
        """
        patience = Patience(self._clock, self._seconds)
        while True:
            try:
                return self._once(op, patience)
            except Exception as error:
                if not self._dialect.refused(error):
                    raise
                again = self._dialect.lost(error) or self._dialect.passing(error)
                if not (again and patience.wait()):
                    raise self._dialect.explain(error, self._where) from error

    def _once(self, op: Op[T], patience: Patience) -> T:
        raw: Any = self._pool.take(patience.left)
        try:
            cursor = raw.cursor()
            if isinstance(op, Alone) and self._dialect.joins:
                result: T = op(Tx(cursor, self._dialect))
            else:
                result = self._on_snapshot(cursor, op)
        except BaseException as error:
            self._pool.drop(raw)
            if self._dialect.lost(error):
                self._pool.forget()
            raise
        self._pool.give_back(raw)
        return result

    def _on_snapshot(self, cursor: Any, op: Op[T]) -> T:
        self._dialect.begin_reading(cursor)
        try:
            return op(Tx(cursor, self._dialect))
        finally:
            self._dialect.say(cursor, "ROLLBACK")
