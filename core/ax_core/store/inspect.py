"""Looking at a database file without changing it: what can be told before it is opened, or instead."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import quote

from ..clock import Micros
from ..model import ToolRow
from .dialects import Dialect
from .migrate import VERSION_TABLE
from .tx import Tx, columns


@contextmanager
def looking(path: str) -> Iterator[Tx]:
    """One snapshot of the file, on a connection that cannot write.

    Raises:
        StoreError: it cannot be read.
    """
    dialect = Dialect()
    raw: Any = None
    try:
        # A file in a folder that may not be written has no room for the index of its log; it is read as it lies.
        try:
            raw = _connected(path, "mode=ro")
        except sqlite3.OperationalError:
            raw = _connected(path, "immutable=1")
        dialect.lenient(raw, True)
        raw.execute("BEGIN")
        yield Tx(raw.cursor(), dialect)
    except sqlite3.Error as error:
        raise dialect.explain(error, path) from error
    finally:
        if raw is not None:
            raw.close()


def _connected(path: str, mode: str) -> sqlite3.Connection:
    raw = sqlite3.connect(f"file:{quote(path)}?{mode}", uri=True, isolation_level=None)
    try:
        raw.execute("SELECT 1 FROM sqlite_master").fetchone()
    except BaseException:
        raw.close()
        raise
    return raw


def schema(tx: Tx) -> str | None:
    """The revision of AX's tables; None: there are none."""
    if (
        tx.one("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = :name", name=VERSION_TABLE)
        is None
    ):
        return None
    found = tx.one(f"SELECT version_num FROM {VERSION_TABLE}")
    return found[0] if found else None


def journal_mode(tx: Tx) -> str:
    """How commits reach the file."""
    return str(tx.one("PRAGMA journal_mode")[0])


def damage(tx: Tx) -> str | None:
    """The first thing that is wrong with the file's pages; None: nothing. Reads all of it."""
    found = str(tx.one("PRAGMA quick_check(1)")[0])
    return None if found == "ok" else found


def newest_at(tx: Tx) -> Micros | None:
    """When the newest task was created."""
    found = tx.one("SELECT created_at FROM ax_task ORDER BY id DESC LIMIT 1")
    return found[0] if found else None


def waiting(tx: Tx) -> dict[str, int]:
    """How many tasks, of all namespaces, wait for a person, by what for."""
    return dict(tx.all(_WAITING))


def every_tool(tx: Tx) -> list[ToolRow]:
    """Every published tool of every namespace."""
    return [ToolRow(*row) for row in tx.all(f"SELECT {columns(ToolRow)} FROM ax_tool ORDER BY ns, name")]


def every_task(tx: Tx) -> Iterator[tuple[str, str]]:
    """(id, head of its audit) of every task."""
    after = ""
    while rows := tx.all(
        "SELECT id, audit_head FROM ax_task WHERE id > :after ORDER BY id LIMIT 1000", after=after
    ):
        yield from rows
        after = rows[-1][0]


_WAITING = (
    "SELECT CASE WHEN state = 'QUARANTINE' THEN reason WHEN maybe_applied = 1 THEN 'maybe_applied' ELSE state END "
    "AS what, COUNT(*) FROM ax_task WHERE state IN ('QUARANTINE', 'CONFIRMING', 'DEAD', 'FAILED', 'CANCELLED') "
    "AND state <> 'SUCCESS' AND (state IN ('QUARANTINE', 'CONFIRMING', 'DEAD') OR maybe_applied = 1) GROUP BY what"
)
