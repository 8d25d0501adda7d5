"""The baseline: one held connection, two transactions a call, the product's tables and rows."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from time import perf_counter

from ax_core.store.dialects import PAGE
from benchmarks.shape import Shape, Write


class RawLoop:
    """Writes the same rows as a call does, with the same durability, and decides nothing.

    Args:
        path: a file that does not exist yet.
        like: a file of the product, whose tables and indexes are copied.
        full: fsync the first transaction, as the claim of a tool that may act is; the second stays NORMAL.
    """

    def __init__(self, path: Path, like: Path, shape: Shape, *, full: bool) -> None:
        self._db = sqlite3.connect(path, isolation_level=None)
        self._shape, self._full, self._n = shape, full, 1_000_000
        self._db.execute(f"PRAGMA page_size={PAGE}")
        self._db.execute("PRAGMA journal_mode=WAL")
        self._db.execute("PRAGMA synchronous=NORMAL")
        for sql in _schema(like):
            self._db.execute(sql)
        for table in ("ax_run", "ax_tool"):
            _copy(self._db, like, table)

    def block(self, calls: int) -> float:
        """That many calls; their values are made beforehand."""
        shape = self._shape
        first, second = self._filled(shape.before, calls), self._filled(shape.after, calls)
        self._n += calls
        run, full = self._db.execute, self._full
        began = perf_counter()
        for one, two in zip(first, second, strict=True):
            if full:
                run("PRAGMA synchronous=FULL")
            run("BEGIN IMMEDIATE")
            for sql, values in one:
                run(sql, values)
            run("COMMIT")
            if full:
                run("PRAGMA synchronous=NORMAL")
            run("BEGIN IMMEDIATE")
            for sql, values in two:
                run(sql, values)
            run("COMMIT")
        return perf_counter() - began

    def close(self) -> None:
        """Let go of the file."""
        self._db.close()

    def _filled(self, writes: tuple[Write, ...], calls: int) -> list[list[tuple[str, tuple[object, ...]]]]:
        return [[(w.sql, self._shape.params(w, self._n + i)) for w in writes] for i in range(calls)]


def _schema(like: Path) -> list[str]:
    db = sqlite3.connect(like)
    rows = db.execute(
        "SELECT sql FROM sqlite_master WHERE sql IS NOT NULL AND name LIKE '%x\\_%' ESCAPE '\\'"
    ).fetchall()
    db.close()
    return [sql for (sql,) in rows]


def _copy(db: sqlite3.Connection, like: Path, table: str) -> None:
    source = sqlite3.connect(like)
    for row in source.execute(f"SELECT * FROM {table}"):
        db.execute(f"INSERT OR IGNORE INTO {table} VALUES ({', '.join('?' * len(row))})", row)
    source.close()
