"""The open database of one process: its writing side, its reading side, and its life from first use to close."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from ..clock import Clock
from ..errors import PolicyError
from ..threads import Threads
from . import forks, migrate
from .commits import Commits
from .dialects import Dialect, sqlite_path
from .held import Held
from .reads import Reads
from .store import Store
from .tx import Op, Told

if TYPE_CHECKING:
    from sqlalchemy import Engine

T = TypeVar("T")
_numbers = itertools.count(1)


class Database(Store):
    """SQLite: runs operations; opens nothing before the first one.

    Args:
        url: an SQLAlchemy URL; ``sqlite://`` is in memory, for this process only.
        engine: the user's own engine, shared instead of made from ``url``.
        announce: told the absolute path once, at opening.
    """

    def __init__(
        self,
        url: str,
        *,
        clock: Clock,
        threads: Threads,
        engine: Engine | None = None,
        announce: Callable[[str], None] = lambda path: None,
    ) -> None:
        self.url = str(engine.url) if engine is not None else url
        self.dialect = Dialect()
        self.path = sqlite_path(self.url)
        if self.path is None and engine is not None:
            raise PolicyError(
                "an in-memory engine cannot be shared: use AX('sqlite://') or an engine on a file"
            )
        self.where, self.clock = self.path or "in memory", clock
        self.survives_fork = self.path is not None
        self._engine, self._announce, self.threads = engine, announce, threads
        self._anchor: Any = None  # keeps a database in memory alive
        self._memory = f"file:/ax-{next(_numbers)}?vfs=memdb"
        self.commits = Commits(self._connect, self.dialect, threads, self.where)
        self.reads = Reads(self._connect, self.dialect, threads, self.where)

    def open(self) -> None:
        forks.attend(self)
        raw = None
        try:
            raw = self._connect()
            if self.path is None:
                self._anchor = self._connect()
            else:
                self._announce(self.path)
            migrate.upgrade(raw, self.where)
        except Exception as error:
            # Alembic's comes wrapped by SQLAlchemy.
            cause = getattr(error, "orig", None) or error
            if self.dialect.refused(cause):
                raise self.dialect.explain(cause, self.where) from error
            raise
        finally:
            if raw is not None:
                raw.close()

    def write(self, op: Op[T], name: str = "control", durable: bool = False) -> T:
        return self.commits.run(op, name, durable)

    def write_later(self, op: Op[T], name: str, durable: bool, told: Told) -> None:
        self.commits.later(op, name, durable, told)

    def queued(self, op: Op[T], name: str = "control", durable: bool = False) -> asyncio.Future[T]:
        return self.commits.queued(op, name, durable)

    def read(self, op: Op[T]) -> T:
        return self.reads.run(op)

    async def aread(self, op: Op[T]) -> T:
        return await self.reads.arun(op)

    def flush(self) -> None:
        self.write(lambda tx: None)  # what stood in line before this is written when this is

    def transaction(self) -> Held:
        """Begin a transaction for a TRANSACTIONAL body; the write lock is held until it is ended."""
        return Held(self)

    @property
    def engine(self) -> Engine:
        if self._engine is None:
            from sqlalchemy import create_engine
            from sqlalchemy.pool import NullPool

            self._engine = create_engine("sqlite://", creator=self._connect, poolclass=NullPool)
        return self._engine

    def rest(self, seconds: float) -> bool:
        """Hold still for a fork, with no connection open but what keeps a database in memory alive."""
        if not self.commits.rest(seconds) or not self.reads.rest(seconds):
            return False
        if self._engine is None:
            return True
        self._engine.dispose()  # the user's own, too: what lies idle in its pool would be inherited
        return not getattr(self._engine.pool, "checkedout", int)()

    def go_on(self) -> None:
        """The end of a rest."""
        self.reads.go_on()
        self.commits.go_on()

    def close(self) -> None:
        forks.leave(self)
        self.commits.close()
        self.reads.close()
        if self._anchor is not None:
            self._anchor.close()

    def _connect(self) -> Any:
        import sqlite3

        if self.path is None:
            raw = sqlite3.connect(self._memory, uri=True, check_same_thread=False)
        else:
            raw = sqlite3.connect(self.path, uri=self.path.startswith("file:"), check_same_thread=False)
        try:
            self.dialect.prepare(raw)
        except BaseException:
            raw.close()
            raise
        return raw


def announce(path: str) -> None:
    """Say once, on the error stream's log, where the truth is kept."""
    import logging

    logging.getLogger("ax").info("AX keeps its record in %s", path)
