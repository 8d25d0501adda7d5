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
    give_up, pause = 0.0, FIRST_PAUSE
    while True:
        try:
            cursor.execute("BEGIN IMMEDIATE")
            return
        except sqlite3.OperationalError as error:
            if getattr(error, "sqlite_errorcode", 0) & 0xFF != sqlite3.SQLITE_BUSY:  # whichever of its kinds
                raise
            now = time.monotonic()
            give_up = give_up or now + dialects.BUSY_SECONDS
            if now >= give_up:
                raise
        time.sleep(pause)
        pause = min(LAST_PAUSE, pause * 1.5)
