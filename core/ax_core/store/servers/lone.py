"""A single statement that the server commits by itself: one round trip instead of four."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..tx import Cursor
from .dialect import ServerDialect
from .proof import Proof
from .tx import ServerTx


class NeedsTransaction(Exception):
    """The operation wants more than one statement; nothing of it is stored."""


class LoneTx(ServerTx):
    """What an :class:`~ax_core.store.tx.Alone` sees. Any statement but the joined ones sends it into a transaction.

    Args:
        landed: whether a statement that was not answered was carried out, known by a row of it.
    """

    __slots__ = ("_done", "_landed")

    def __init__(
        self, cursor: Cursor, dialect: ServerDialect, durable: bool, landed: Callable[[Proof], bool]
    ) -> None:
        super().__init__(cursor, dialect, durable)
        self._landed = landed
        self._done = False

    def serialise(self, *names: str) -> None:
        if names:
            self._begin()

    def insert_unless(self, table: str, row: tuple[Any, ...], exists: str, values: tuple[Any, ...]) -> bool:
        text = self.dialect.inserting_unless(table, len(row), exists, self._durable)
        assert text is not None, "a dialect that joins has it"
        return self._joined(text, row[:] + values, Proof(table, row[:]))

    def _joined(self, sql: str, values: tuple[Any, ...], proof: Proof) -> bool:
        if self._done:
            self._begin()
        try:
            self._done = self.execute(sql, values) == 1
        except Exception as error:
            # It may have been carried out, and then what the operation made of it stands.
            if not (self.dialect.lost(error) and self._landed(proof)):
                raise
            self._done = True
        return self._done

    def execute(self, text: str, values: tuple[Any, ...]) -> int:
        """Have it carried out and committed, in one round trip; the number of rows."""
        self._cursor.execute(text, values)
        return self._cursor.rowcount

    def _begin(self) -> None:
        assert not self._done, "an operation that is to be one statement went on after it"
        raise NeedsTransaction
