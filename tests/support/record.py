"""What AX's record says in the end, as plain values for the oracle."""

from __future__ import annotations

import sqlite3
from collections import Counter
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from sqlalchemy import create_engine, text
from sqlalchemy.pool import NullPool

from ax_core import AX
from ax_core.model import Attempt, Task
from support.agent_tools import BUSINESS


class Kept(NamedTuple):
    """A task with every attempt, and whether its audit trail is whole.

    Attributes:
        stood: the state it was found in, before the look itself could classify what a dead process left.
    """

    task: Task
    stood: str
    broken_at: int | None
    verbs: tuple[str, ...]

    @property
    def attempts(self) -> tuple[Attempt, ...]:
        """Oldest first."""
        return self.task.history


def read(url: str) -> dict[str, Kept]:
    """Everything on record in a database, by request id."""
    stood = dict(rows(url, "SELECT id, state FROM ax_task"))
    with AX(url) as ax:
        found: dict[str, Kept] = {}
        after: str | None = None
        while True:
            page = ax.tasks(limit=1000, after=after)
            for task in page.tasks:
                verbs = tuple(entry.verb for entry in ax.audit(task.id))
                found[task.request_id or task.id] = Kept(
                    ax.get(task.id), stood.get(task.id, task.state), ax.verify(task.id), verbs
                )
            if page.after is None:
                return found
            after = page.after


@cache
def _empty() -> bytes:
    """A record with nothing in it but the table of the business: made once, copied for each test."""
    with TemporaryDirectory() as folder:
        db = Path(folder) / "ax.db"
        with AX(f"sqlite:///{db}") as ax:
            ax.tasks(limit=1)
        raw = sqlite3.connect(db)
        raw.execute(BUSINESS)
        raw.commit()
        raw.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        raw.close()
        return db.read_bytes()


def prepare(db: Path) -> None:
    """Make an empty record."""
    db.write_bytes(_empty())


def business(url: str) -> Counter[str]:
    """How many business rows there are, by subject."""
    return Counter(subject for (subject,) in rows(url, "SELECT subject FROM business"))


def rows(url: str, sql: str) -> list[tuple[Any, ...]]:
    """What one query finds, asked past AX."""
    with create_engine(url, poolclass=NullPool).connect() as connection:
        return [tuple(row) for row in connection.execute(text(sql))]


def run(url: str, sql: str) -> None:
    """One statement, past AX."""
    with create_engine(url, poolclass=NullPool).begin() as connection:
        connection.execute(text(sql))
