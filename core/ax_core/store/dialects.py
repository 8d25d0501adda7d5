"""What differs between databases, and nothing else."""

from __future__ import annotations

import os
import sqlite3
import time
from functools import cache
from typing import Any

from ..errors import PolicyError, StoreError

BUSY_SECONDS = 15.0
"""How long SQLite waits for another process's write lock before it gives up."""

PAGE = 2048
"""Bytes of a page in a new SQLite file."""


class Dialect:
    """SQLite: SQL text as it is written, named parameters passed through."""

    name = "sqlite"

    def bind(self, sql: str, params: dict[str, Any]) -> tuple[str, Any]:
        """The text and parameters in the driver's own style."""
        return sql, params

    def insert(self, table: str, width: int) -> str:
        """An insert of a whole row."""
        return _insert(table, width)

    def insert_new(self, table: str, width: int) -> str:
        """An insert of a whole row that does nothing where a unique key exists."""
        return _insert(table, width) + " ON CONFLICT DO NOTHING"

    def insert_unless(self, table: str, width: int, exists: str) -> str:
        """An insert of a whole row that does nothing where a query finds a row."""
        return _insert_unless(table, width, exists)

    def prepare(self, raw: Any) -> None:
        """Bring a fresh driver connection into the state that AX relies on."""
        # Autocommit: AX itself says BEGIN IMMEDIATE, so that no read ever has to become a write.
        raw.isolation_level = None
        for pragma in (
            # Of a new file only. A commit writes and checksums whole pages, and a call changes few rows in each.
            f"page_size={PAGE}",
            f"busy_timeout={int(BUSY_SECONDS * 1000)}",
            "synchronous=NORMAL",
            # A checkpoint inside a caller's commit costs that caller; a thread does them (commits.py).
            "wal_autocheckpoint=0",
            # What a long read made of the log is given back to the disk once the log begins anew.
            "journal_size_limit=8388608",
            "foreign_keys=OFF",
            "temp_store=MEMORY",
            "cache_size=-16000",
        ):
            raw.execute(f"PRAGMA {pragma}").fetchall()
        _write_ahead(raw)

    def durability(self, raw: Any, full: bool) -> None:
        """Make the next commits survive a power cut, or only a crash of the process."""
        raw.execute("PRAGMA synchronous=FULL" if full else "PRAGMA synchronous=NORMAL")

    def log_size(self, path: str) -> int:
        """The bytes of the write-ahead log of a file."""
        try:
            return os.path.getsize(f"{path}-wal")
        except OSError:
            return 0

    def refused(self, error: BaseException) -> bool:
        """Whether it is the driver that speaks."""
        return isinstance(error, sqlite3.Error | UnicodeEncodeError)

    def odd_text(self, error: BaseException) -> bool:
        """Whether a row holds text that is none."""
        return isinstance(error, sqlite3.OperationalError) and "decode to UTF-8" in str(error)

    def lenient(self, raw: Any, on: bool) -> None:
        """Read text that is none with replacement characters, or refuse it."""
        raw.text_factory = (lambda data: data.decode("utf-8", "replace")) if on else str

    def explain(self, error: BaseException, url: str) -> StoreError:
        """A driver's error as a StoreError that says what to do."""
        if isinstance(error, UnicodeEncodeError):
            return StoreError(
                "nothing was stored: a text holds half a surrogate pair "
                f"({error.object[max(0, error.start - 20) : error.end + 20]!r}), which is no character"
            )
        text = str(error)
        low = text.lower()
        for sign, advice in _ADVICE:
            if sign in low:
                return StoreError(f"the database {url} {advice} ({text})")
        if isinstance(error, sqlite3.DatabaseError):
            return StoreError(f"the database {url} refused: {text}")
        return StoreError(f"the database {url} failed: {type(error).__name__}: {text}")


_ADVICE = (
    (
        "locked",
        f"stayed locked for {BUSY_SECONDS:.0f} s: another process holds a write transaction open; find and end it",
    ),
    ("readonly", "is read-only: give this process write permission on the file and its folder"),
    ("full", "has no disk space left: free some; nothing of this operation is stored"),
    ("unable to open", "cannot be opened: check that its folder exists and may be written"),
    ("not a database", "is not a SQLite database: point AX_URL at another file"),
    ("malformed", "is damaged: restore it from a backup, or run sqlite3's .recover on a copy"),
    ("disk i/o", "had an I/O error: check the disk; the state on record is what was committed before"),
)


def _write_ahead(raw: Any) -> None:
    """Switch to WAL. SQLite does not wait for others here: of several that open a fresh file, some are refused."""
    give_up = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            raw.execute("PRAGMA journal_mode=WAL").fetchall()
            return
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() >= give_up:
                raise
        time.sleep(0.005)


@cache
def _insert(table: str, width: int) -> str:
    return f"INSERT INTO {table} VALUES ({', '.join('?' * width)})"


@cache
def _insert_unless(table: str, width: int, exists: str) -> str:
    return f"INSERT INTO {table} SELECT {', '.join('?' * width)} WHERE NOT EXISTS ({exists})"


def sqlite_path(url: str) -> str | None:
    """The absolute path of a SQLite URL's file, or None for one in memory.

    Raises:
        PolicyError: it is no such URL.
    """
    from sqlalchemy.engine import make_url
    from sqlalchemy.exc import ArgumentError

    try:
        parsed = make_url(url)
    except ArgumentError:
        raise PolicyError(
            f"{url!r} is no database URL; a file is sqlite:///path, memory is sqlite://"
        ) from None
    if parsed.host:  # else it would be taken for one in memory, and lost
        raise PolicyError(
            f"{url!r} names a host, which SQLite has not; a file is sqlite:///path, with three slashes"
        )
    database = parsed.database
    if not database or database == ":memory:":
        return None
    return database if database.startswith("file:") else os.path.abspath(database)
