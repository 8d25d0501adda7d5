"""A transaction on a server: what it reads in order to write is locked until it ends."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..tx import Cursor, Tx
from .dialect import ServerDialect
from .proof import Proof


class ServerTx(Tx):
    """The open transaction of a writing operation; it begins with its first statement.

    Attributes:
        proof: a row of it that no other transaction can have written; None: there is none yet.
        wrote: whether it changed anything.
    """

    __slots__ = ("_durable", "begun", "dialect", "proof", "wrote")

    beside_others = True
    dialect: ServerDialect

    def __init__(self, cursor: Cursor, dialect: ServerDialect, durable: bool, begun: bool = False) -> None:
        super().__init__(cursor, dialect)
        self._durable = durable
        self.begun, self.wrote = begun, False
        self.proof: Proof | None = None

    def serialise(self, *names: str) -> None:
        numbers = sorted({self.dialect.spread(name) for name in names})
        if not self.begun:
            self.begun = True
            self.dialect.begin(self._cursor, self._durable, numbers)
        elif numbers:
            self.dialect.lock(self._cursor, numbers)

    def run(self, sql: str, **params: Any) -> int:
        return self._write(*self.dialect.bind(sql, params))

    def update(self, sql: str, values: tuple[Any, ...]) -> int:
        return self._write(self.dialect.text(sql), values)

    def insert(self, table: str, row: tuple[Any, ...]) -> None:
        self._write(self.dialect.insert(table, len(row)), row[:])
        if table == "ax_audit":
            self.proof = Proof(table, row[:])

    def insert_new(self, table: str, row: tuple[Any, ...]) -> bool:
        self._write(self.dialect.insert_new(table, len(row)), row[:])
        return self.dialect.inserted(self._cursor)

    def change(self, sql: str, values: tuple[Any, ...], entry: tuple[Any, ...], first: Any = None) -> bool:
        joined = self.dialect.changing(sql, first is not None)
        if joined is None:
            return super().change(sql, values, entry, first)
        return self._joined(
            joined, values + (() if first is None else first[:]) + entry[:], Proof("ax_audit", entry[:])
        )

    def change_each(self, sql: str, changes: Sequence[tuple[tuple[Any, ...], tuple[Any, ...]]]) -> list[bool]:
        rows = None
        if len(changes) > 1 and (joined := self.dialect.changing(sql, False)) is not None:
            self._begin()
            rows = self.dialect.stream(self._cursor, joined, [values + entry[:] for values, entry in changes])
        if rows is None:
            return super().change_each(sql, changes)
        done = [count == 1 for count in rows]
        for did, (_, entry) in zip(done, changes, strict=True):
            if did:
                self.wrote, self.proof = True, Proof("ax_audit", entry[:])
        return done

    def add(self, row: tuple[Any, ...], entry: tuple[Any, ...]) -> None:
        joined = self.dialect.adding(len(row), len(entry), self._durable)
        if joined is None:
            super().add(row, entry)
            return
        self._joined(joined, row[:] + entry[:], Proof("ax_audit", entry[:]))

    def insert_unless(self, table: str, row: tuple[Any, ...], exists: str, values: tuple[Any, ...]) -> bool:
        sql = self.dialect.insert_unless(table, len(row), exists)
        return self._joined(sql, row[:] + values, Proof(table, row[:]))

    def one(self, sql: str, **params: Any) -> Any:
        self._read(sql, params)
        return self._cursor.fetchone()

    def all(self, sql: str, **params: Any) -> list[Any]:
        self._read(sql, params)
        return list(self._cursor.fetchall())

    def held(self, sql: str, **params: Any) -> Any:
        self._read(sql + " FOR UPDATE", params)
        return self._cursor.fetchone()

    def all_held(self, sql: str, **params: Any) -> list[Any]:
        self._read(sql + " FOR UPDATE", params)
        return list(self._cursor.fetchall())

    def _joined(self, sql: str, values: tuple[Any, ...], proof: Proof) -> bool:
        """A statement that writes a task and its audit, whether it did; ``proof`` is a row of it."""
        done = self._write(sql, values) == 1
        if done:
            self.proof = proof
        return done

    def _read(self, sql: str, params: dict[str, Any]) -> None:
        self._begin()
        self._cursor.execute(*self.dialect.bind(sql, params))

    def _write(self, sql: str, values: Any) -> int:
        self._begin()
        self._cursor.execute(sql, values)
        self.wrote = True
        return self._cursor.rowcount

    def _begin(self) -> None:
        if not self.begun:
            self.begun = True
            self.dialect.begin(self._cursor, self._durable)
