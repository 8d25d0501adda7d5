"""The transaction of a TRANSACTIONAL body: lent to the tool, committed or undone by AX alone."""

from __future__ import annotations

import _thread
from typing import TYPE_CHECKING, Any

from .. import faults
from ..errors import PolicyError
from .tx import Tx

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from .database import Database

ABORT_SECONDS = 0.05
"""How long a statement of an aborted transaction may still take before it is interrupted."""
FETCH_SECONDS = 2.0
"""The same for one that gives its rows out one by one: it cannot be told from one that merely stands open."""


class Held:
    """BEGIN IMMEDIATE on a SQLAlchemy connection that a tool may write through, and AX alone may commit.

    Attributes:
        connection: what the tool gets.

    Raises:
        StoreError: it cannot begin; nothing is held.
    """

    def __init__(self, home: Database) -> None:
        from sqlalchemy import event

        self._exclusive, self._spawn = home.commits.exclusive(), home.threads.spawn
        self._closing = _thread.allocate_lock()
        self._aborted = self._at_work = self._undone = False
        try:
            self.connection: Connection = home.engine.connect()
            # SQLAlchemy is told of a transaction, so that it begins no other and a Session joins this one.
            self.connection.begin()
            raw: Any = self.connection.connection.driver_connection
            self._raw = raw
            if raw.in_transaction:  # an engine may begin for itself, and then deferred
                raw.execute("ROLLBACK")
            home.dialect.prepare(self._raw)
            home.dialect.durability(self._raw, True)
            event.listen(self.connection, "commit", refuse_commit)
            event.listen(self.connection, "rollback", self._rolls_back)
            event.listen(self.connection, "before_cursor_execute", self._begins)
            event.listen(self.connection, "after_cursor_execute", self._ends)
            self._raw.execute("BEGIN IMMEDIATE")
        except BaseException as error:
            self._close()
            cause = getattr(error, "orig", None) or error
            if home.dialect.refused(cause):
                raise home.dialect.explain(cause, home.where) from error
            raise
        self.tx = Tx(self._raw.cursor(), home.dialect)

    def check(self) -> None:
        """Whether there is anything to commit.

        Raises:
            PolicyError: the tool rolled back.
        """
        if self._undone:
            raise PolicyError(UNDONE)

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
            # A statement at work is interrupted. Not one that merely stands open: that would undo the rollback's own.
            if not over.acquire(timeout=ABORT_SECONDS if self._at_work else FETCH_SECONDS):
                try:
                    self._raw.interrupt()
                except Exception:  # closed meanwhile
                    pass
                over.acquire(timeout=FETCH_SECONDS)
            self._exclusive.release()

        self._spawn(end)
        self._spawn(hurry)

    def _begins(self, *_: Any) -> None:
        self._at_work = True
        if self._aborted:
            raise PolicyError(
                "the time of this task ran out and its transaction was undone: it writes no more"
            )
        self.check()

    def _ends(self, *_: Any) -> None:
        self._at_work = False

    def _rolls_back(self, *_: Any) -> None:
        self._undone = True

    def _close(self) -> None:
        try:
            with self._closing:
                self.connection.invalidate()
                self.connection.close()
        except Exception:  # it was closed before
            pass
        finally:
            self._exclusive.release()


def refuse_commit(connection: Any) -> None:
    """Told of a commit by SQLAlchemy."""
    raise PolicyError("ctx.connection commits with AX's own record; a TRANSACTIONAL tool must not commit it")


UNDONE = (
    "the tool rolled ctx.connection back, so nothing of it is left to be recorded: raise an exception instead"
)
