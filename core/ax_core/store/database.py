"""The open database of one process: its writing side, its reading side, and its life from first use to close."""

from __future__ import annotations

import itertools
import _thread
import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from .. import faults
from ..clock import Clock
from ..errors import PolicyError
from ..threads import Threads
from . import migrate
from .commits import Commits
from .dialects import Dialect, sqlite_path
from .reads import Reads
from .tx import Op, Tx

if TYPE_CHECKING:
    from sqlalchemy import Connection, Engine

T = TypeVar("T")
ABORT_SECONDS = 0.05
"""How long a statement of an aborted transaction may still take before it is interrupted."""
_numbers = itertools.count(1)


class Database:
    """Runs operations; opens nothing before the first one.

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
        if not self.url.startswith("sqlite"):
            raise PolicyError(f"the inline form keeps its truth in SQLite; {self.url.split(':', 1)[0]} is not served")
        self.dialect = Dialect()
        self.path = sqlite_path(self.url)
        if self.path is None and engine is not None:
            raise PolicyError("an in-memory engine cannot be shared: use AX('sqlite://') or an engine on a file")
        self.where = self.path or "in memory"
        self._engine, self._announce, self.threads = engine, announce, threads
        self._anchor: Any = None  # keeps a database in memory alive
        self._memory = f"file:/ax-{next(_numbers)}?vfs=memdb"
        self.commits = Commits(self._connect, self.dialect, threads, self.where)
        self.reads = Reads(self._connect, self.dialect, threads, self.where)

    def open(self) -> None:
        """Create or check the schema; called once, before the first operation.

        Raises:
            StoreError: it cannot be opened, or a newer AX wrote it.
        """
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
        """Run ``op`` in a committed transaction."""
        return self.commits.run(op, name, durable)

    async def awrite(self, op: Op[T], name: str = "control", durable: bool = False) -> T:
        """:meth:`write` without blocking the event loop."""
        return await self.commits.arun(op, name, durable)

    def read(self, op: Op[T]) -> T:
        """Run ``op`` on one consistent snapshot."""
        return self.reads.run(op)

    async def aread(self, op: Op[T]) -> T:
        """:meth:`read` on a helper thread."""
        return await self.reads.arun(op)

    def transaction(self) -> Held:
        """Begin a transaction for a TRANSACTIONAL body; the write lock is held until it is ended."""
        return Held(self)

    @property
    def engine(self) -> Engine:
        """The SQLAlchemy engine; made on first use unless the user gave one."""
        if self._engine is None:
            from sqlalchemy import create_engine
            from sqlalchemy.pool import NullPool

            self._engine = create_engine("sqlite://", creator=self._connect, poolclass=NullPool)
        return self._engine

    def close(self) -> None:
        """Close every connection."""
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
        self.dialect.prepare(raw)
        return raw


class Held:
    """BEGIN IMMEDIATE on a SQLAlchemy connection that a tool may write through, and AX alone may commit.

    Attributes:
        connection: what the tool gets.
    """

    def __init__(self, home: Database) -> None:
        from sqlalchemy import event

        self._exclusive, self._spawn = home.commits.exclusive(), home.threads.spawn
        self._closing, self._aborted = _thread.allocate_lock(), False
        try:
            self.connection: Connection = home.engine.connect()
            raw: Any = self.connection.connection.driver_connection
            self._raw = raw
            home.dialect.prepare(self._raw)
            home.dialect.durability(self._raw, True)
            event.listen(self.connection, "commit", _refuse_commit)
            event.listen(self.connection, "before_cursor_execute", self._refuse_if_aborted)
            self._raw.execute("BEGIN IMMEDIATE")
        except BaseException:
            self._exclusive.release()
            raise
        self.tx = Tx(self._raw.cursor(), home.dialect)

    def commit(self) -> None:
        """Make the tool's writes and AX's record true together."""
        faults.point("effect.before_commit")
        self._raw.execute("COMMIT")
        faults.point("effect.after_commit")
        self._close()
        for callback in self.tx.after:
            callback()

    def roll_back(self) -> None:
        """Undo what was written; harmless after the end."""
        try:
            if self._raw.in_transaction:
                self._raw.execute("ROLLBACK")
        except Exception:  # aborted by another thread at this moment, or closed
            pass
        self._close()

    def abort(self) -> None:
        """From another thread: roll back under a body that does not end, and let others write. Never blocks."""
        over = _thread.allocate_lock()
        over.acquire()
        self._aborted = True

        def end() -> None:
            with self._closing:
                try:
                    # Not closed: that is its own thread's to do, for it may be inside the driver. From here on it
                    # can write nothing, neither in this transaction nor on its own account after it.
                    self._raw.execute("PRAGMA query_only=1")
                    self._raw.execute("ROLLBACK")
                except Exception:  # it had just ended by itself
                    pass
            over.release()

        def hurry() -> None:
            if not over.acquire(timeout=ABORT_SECONDS):
                try:
                    self._raw.interrupt()  # a statement is at work: this ends it
                except Exception:
                    pass
                over.acquire(timeout=20 * ABORT_SECONDS)
            self._exclusive.release()

        self._spawn(end)
        self._spawn(hurry)

    def _refuse_if_aborted(self, *_: Any) -> None:
        if self._aborted:
            raise PolicyError("the time of this task ran out and its transaction was undone: it writes no more")

    def _close(self) -> None:
        try:
            with self._closing:
                self.connection.invalidate()
                self.connection.close()
        except Exception:  # it was closed before
            pass
        finally:
            self._exclusive.release()


def _refuse_commit(connection: Any) -> None:
    raise PolicyError("ctx.connection commits with AX's own record; a TRANSACTIONAL tool must not commit it")


def default_url() -> str:
    """``AX_URL``, else a file ``ax.db`` in the working folder."""
    return os.environ.get("AX_URL") or "sqlite:///ax.db"


def announce(path: str) -> None:
    """Say once, on the error stream's log, where the truth is kept."""
    import logging

    logging.getLogger("ax").info("AX keeps its record in %s", path)


