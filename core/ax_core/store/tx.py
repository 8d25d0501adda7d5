"""One transaction, as the store's operations see it: SQL text on the driver's own cursor."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, Protocol, TypeVar

T = TypeVar("T")
Op = Callable[["Tx"], T]
"""A store operation: it may run again from the start if its commit failed, so it touches nothing but the Tx."""

Told = Callable[[Any, BaseException | None], None]
"""Whoever gets the result of an operation, or its error."""


class Alone:
    """A store operation of one statement, for a database where a transaction around it would cost round trips.

    It may turn out to need more as long as none has changed anything: then it is run again, in a transaction.
    """

    __slots__ = ("_op",)

    def __init__(self, op: Op[Any]) -> None:
        self._op = op

    def __call__(self, tx: Tx) -> Any:
        return self._op(tx)


class Cursor(Protocol):
    """The part of the DBAPI that is used."""

    rowcount: int

    def execute(self, sql: str, params: Any = ..., /) -> Any: ...
    def fetchone(self) -> Any: ...
    def fetchall(self) -> list[Any]: ...


class Wording(Protocol):
    """How a database's driver wants its SQL."""

    def bind(self, sql: str, params: dict[str, Any]) -> tuple[str, Any]: ...
    def insert(self, table: str, width: int) -> str: ...
    def insert_new(self, table: str, width: int) -> str: ...
    def insert_unless(self, table: str, width: int, exists: str) -> str: ...


class Tx:
    """The cursor of an open transaction, plus what is to happen once it is committed.

    Attributes:
        beside_others: other transactions write at the same time, so that what was read may change unless it is locked.
            SQLite has one writer, and a transaction that only reads is none.
    """

    __slots__ = ("_cursor", "after", "dialect")

    beside_others = False

    def __init__(self, cursor: Cursor, dialect: Wording) -> None:
        self._cursor = cursor
        self.dialect = dialect
        self.after: list[Callable[[], None]] = []

    def run(self, sql: str, **params: Any) -> int:
        """Execute and return the number of rows it changed."""
        self._cursor.execute(*self.dialect.bind(sql, params))
        return self._cursor.rowcount

    def update(self, sql: str, values: tuple[Any, ...]) -> int:
        """:meth:`run` for a statement on the way of every call, with its values in the order of its marks."""
        # sqlite3 binds an exact tuple twice as fast as a dict.
        self._cursor.execute(sql, values)
        return self._cursor.rowcount

    def insert(self, table: str, row: tuple[Any, ...]) -> None:
        """Insert a whole row, in column order."""
        # A slice of a named tuple is an exact one, which the driver binds twice as fast.
        self._cursor.execute(self.dialect.insert(table, len(row)), row[:])

    def insert_new(self, table: str, row: tuple[Any, ...]) -> bool:
        """Insert a whole row unless a unique key of it exists; whether it was inserted."""
        self._cursor.execute(self.dialect.insert_new(table, len(row)), row[:])
        return self._cursor.rowcount == 1

    def insert_unless(self, table: str, row: tuple[Any, ...], exists: str, values: tuple[Any, ...]) -> bool:
        """Insert a whole row unless the query ``exists`` finds one; whether it was inserted."""
        self._cursor.execute(self.dialect.insert_unless(table, len(row), exists), row[:] + values)
        return self._cursor.rowcount == 1

    def change(self, sql: str, values: tuple[Any, ...], entry: tuple[Any, ...], first: Any = None) -> bool:
        """:meth:`update` one task and, if it stood as ``sql`` says, enter that into its audit; whether it did.

        Args:
            entry: a row of the audit; ``first``: one to be stored before it, unless it is there.
        """
        if self.update(sql, values) != 1:
            return False
        if first is not None:
            self.insert_new("ax_audit", first)
        self.insert("ax_audit", entry)
        return True

    def change_each(self, sql: str, changes: Sequence[tuple[tuple[Any, ...], tuple[Any, ...]]]) -> list[bool]:
        """:meth:`change` for several tasks: the values and the entry of each."""
        return [self.change(sql, values, entry) for values, entry in changes]

    def add(self, row: tuple[Any, ...], entry: tuple[Any, ...]) -> None:
        """Insert a task, and the first entry of its audit."""
        self.insert("ax_task", row)
        self.insert("ax_audit", entry)

    def one(self, sql: str, **params: Any) -> Any:
        """The first row, or None."""
        self._cursor.execute(*self.dialect.bind(sql, params))
        return self._cursor.fetchone()

    def all(self, sql: str, **params: Any) -> list[Any]:
        """Every row."""
        self._cursor.execute(*self.dialect.bind(sql, params))
        return self._cursor.fetchall()

    def held(self, sql: str, **params: Any) -> Any:
        """:meth:`one`, and nobody else changes that row before this transaction ends."""
        self._cursor.execute(*self.dialect.bind(sql, params))
        return self._cursor.fetchone()

    def all_held(self, sql: str, **params: Any) -> list[Any]:
        """:meth:`all`, and nobody else changes those rows before this transaction ends."""
        return self.all(sql, **params)

    def serialise(self, *names: str) -> None:
        """Let no other transaction that names one of these go on before this one ends; worth it ``beside_others``."""

    @property
    def cursor(self) -> Cursor:
        """The driver's own."""
        return self._cursor

    def then(self, callback: Callable[[], None]) -> None:
        """Call back after the commit, never if it fails."""
        self.after.append(callback)


@cache
def columns(row_type: type[Any]) -> str:
    """The columns of a row type as SQL text, in its order."""
    return ", ".join(row_type._fields)
