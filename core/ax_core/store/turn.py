"""The write lock of a SQLite file that several processes write to."""

from __future__ import annotations

import sqlite3
import time
from typing import Any

from . import dialects

FIRST_PAUSE, LAST_PAUSE = 0.0002, 0.002


def begin(cursor: Any) -> None:
    """Begin a write transaction, once the processes before this one have ended theirs.

    SQLite's own wait, if it is off on this connection, is not missed: it grows to a tenth of a second, where a
    transaction of AX is over in a millisecond, and two busy processes would sleep most of the time.

    Raises:
        sqlite3.OperationalError: another process held the lock for ``BUSY_SECONDS``, or there is another reason.
    """
    try:
        cursor.execute(_BEGIN)
    except sqlite3.OperationalError as error:
        _wait(cursor, error)


def _wait(cursor: Any, error: sqlite3.OperationalError) -> None:
    give_up, pause = time.monotonic() + dialects.BUSY_SECONDS, FIRST_PAUSE
    while True:
        # Whichever kind of busy it is.
        if getattr(error, "sqlite_errorcode", 0) & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() >= give_up:
            raise error
        time.sleep(pause)
        pause = min(LAST_PAUSE, pause * 1.5)
        try:
            cursor.execute(_BEGIN)
            return
        except sqlite3.OperationalError as again:
            error = again


_BEGIN = "BEGIN IMMEDIATE"
