"""The transaction of a TRANSACTIONAL body on a server: lent to the tool, committed or undone by AX alone.

It holds no lock of AX's while the body runs. What decides is the guarded UPDATE of the task's row, its last statement:
it changes nothing, and the transaction is rolled back, where the task was given up or taken over meanwhile.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ... import faults
from ...errors import PolicyError, StoreError
from ..held import UNDONE, refuse_commit
from .patience import Patience
from .tx import ServerTx

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from .server import Server


class ServerHeld:
    """A transaction on a SQLAlchemy connection that a tool may write through, and AX alone may commit.

    Attributes:
        connection: what the tool gets.

    Raises:
        StoreError: it cannot begin; nothing is held.
    """

    def __init__(self, home: Server) -> None:
        from sqlalchemy import event

        self._home, self._dialect = home, home.dialect
        self._aborted = self._undone = self._over = False
        try:
            self.connection: Connection = home.engine.connect()
            self.connection.execution_options(isolation_level="READ COMMITTED")
            # SQLAlchemy is told of a transaction, so that it begins no other and a Session joins this one.
            self.connection.begin()
            raw: Any = self.connection.connection.driver_connection
            cursor = raw.cursor()
            self._raw, self._number = raw, home.dialect.lend(raw, cursor)
        except Exception as error:
            self._close(broken=True)
            cause = getattr(error, "orig", None) or error
            if home.dialect.refused(cause):
                raise home.dialect.explain(cause, home.where) from error
            raise
        event.listen(self.connection, "commit", refuse_commit)
        event.listen(self.connection, "rollback", self._rolls_back)
        event.listen(self.connection, "before_cursor_execute", self._begins)
        self.tx = ServerTx(cursor, home.dialect, True, begun=True)

    def check(self) -> None:
        """Whether there is anything to commit.

        Raises:
            PolicyError: the tool rolled back, or ended the transaction otherwise.
        """
        if self._undone:
            raise PolicyError(UNDONE)
        if not self._dialect.in_transaction(self._raw):
            raise PolicyError(
                "a statement of the tool ended the transaction of ctx.connection (COMMIT, or a change of a table, "
                "which this database commits by itself): a TRANSACTIONAL tool must not"
            )

    def commit(self) -> None:
        """Make the tool's writes and AX's record true together; a COMMIT that was not answered is looked up."""
        faults.point("effect.before_commit")
        try:
            self._home.commits.commit(self._raw, self.tx.cursor)
        except Exception as error:
            cause = getattr(error, "orig", None) or error
            if not self._dialect.lost(cause):
                raise
            self._close(broken=True)
            assert self.tx.proof is not None
            if not self._home.commits.landed(self.tx.proof, self._number, Patience(self._home.clock, 20)):
                raise
        faults.point("effect.after_commit")
        self._close()
        for callback in self.tx.after:
            callback()

    def roll_back(self) -> None:
        """Undo what was written; harmless after the end."""
        broken = True
        if not self._over and not self._aborted:
            try:
                self._raw.rollback()
                broken = False
            except Exception:  # cut off
                pass
        self._close(broken)

    def abort(self) -> None:
        """From another thread: end it under a body that does not end, and its locks with it. Never blocks."""
        self._aborted = True

        def end() -> None:
            try:
                self._home.cut(self._number)
            except StoreError:  # then it holds its locks until its body ends; it can commit nothing
                pass

        if not self._over:
            self._home.threads.spawn(end)

    def _begins(self, *_: Any) -> None:
        if self._aborted:
            raise PolicyError(
                "the time of this task ran out and its transaction was undone: it writes no more"
            )
        if self._undone:
            raise PolicyError(UNDONE)

    def _rolls_back(self, *_: Any) -> None:
        self._undone = True

    def _close(self, broken: bool = False) -> None:
        if self._over:
            return
        self._over = True
        try:
            if broken or self._aborted:
                self.connection.invalidate()
            self.connection.close()
        except Exception:  # it was never opened, or is closed
            pass
