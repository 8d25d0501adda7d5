"""The writing side on a server: each operation in a transaction of its own, tried again where that can do no harm."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, TypeVar

from ... import faults
from ...clock import Clock
from ...errors import StoreError
from ..tx import Alone, Op
from .dialect import ServerDialect
from .lone import LoneTx, NeedsTransaction
from .patience import Patience
from .pool import Pool
from .proof import Proof, landed, leave
from .tx import ServerTx

T = TypeVar("T")


class Writes:
    """Runs write operations on the connections of a pool.

    An operation runs again from the start after a deadlock, a lock that was not to be had, a serialisation failure, and
    a connection that was lost before COMMIT: in all of these nothing is stored. One whose COMMIT was not answered is
    looked up (:mod:`.proof`), and runs again only if it is certain that nothing is stored.

    Args:
        seconds: how long one is tried.
    """

    def __init__(self, pool: Pool, dialect: ServerDialect, clock: Clock, where: str, seconds: float) -> None:
        self._pool, self._dialect, self._clock, self._where = pool, dialect, clock, where
        self._seconds = seconds

    def run(self, op: Op[T], name: str = "control", durable: bool = False) -> T:
        """Run ``op`` in a committed transaction, on this thread.

        Raises:
            StoreError: the database refused, or did not come back in time; nothing of ``op`` is stored, unless the
                message says that this is not known.
        """
        patience = Patience(self._clock, self._seconds)
        # A proxy may hold a lone statement back and send it on after it was looked up; a transaction is open by then.
        lone = self._dialect.joins and not self._dialect.pooled
        once = self._alone if isinstance(op, Alone) and lone else self._once
        while True:
            try:
                return once(op, name, durable, patience)
            except NeedsTransaction:
                once = self._once
            except Exception as error:
                if not self._dialect.refused(error):
                    raise
                again = self._dialect.lost(error) or self._dialect.passing(error)
                if not (again and patience.wait()):
                    raise self._dialect.explain(error, self._where) from error

    def _once(self, op: Op[T], name: str, durable: bool, patience: Patience) -> T:
        raw = self._pool.take(patience.left)
        cursor = raw.cursor()
        # A server that crashes is no rare power cut: what a caller was told is on disk before, reads included.
        tx = ServerTx(cursor, self._dialect, durable or name != "admit")
        try:
            result = op(tx)
            leave(tx, self._clock.new_id(), self._clock.now())
            faults.point(name + ".before_commit")
        except BaseException as error:
            self._undo(raw, cursor, tx, error)
            raise
        if tx.begun:
            try:
                self.commit(raw, cursor)
            except Exception as error:
                if not self._dialect.lost(error):
                    self._undo(raw, cursor, tx, error)
                    raise
                number = self._dialect.number(raw)
                self._pool.drop(raw)
                self._pool.forget()
                if tx.proof is not None and not self.landed(tx.proof, number, patience):
                    raise
                raw = None
        if raw is not None:
            self._pool.give_back(raw)
        self._told(name, tx)
        return result

    def _alone(self, op: Op[T], name: str, durable: bool, patience: Patience) -> T:
        raw: Any = self._pool.take(patience.left)
        while not self._dialect.silent(
            raw
        ):  # cut while it lay idle: else nobody could tell that from a lost answer
            self._pool.drop(raw)
            raw = self._pool.take(patience.left)
        cursor = raw.cursor()
        broken = False

        def landed(proof: Proof) -> bool:
            nonlocal broken
            broken, number = True, self._dialect.number(raw)
            self._pool.drop(raw)
            self._pool.forget()
            return self.landed(proof, number, patience)

        tx = LoneTx(cursor, self._dialect, durable or name != "admit", landed)
        try:
            faults.point(name + ".before_commit")
            result = op(tx)
        except BaseException as error:
            if not broken:
                self._undo(raw, cursor, tx, error)
            raise
        if not broken:
            self._pool.give_back(raw)
        self._told(name, tx)
        return result

    def _told(self, name: str, tx: ServerTx) -> None:
        faults.point(name + ".after_commit")
        for callback in tx.after:
            _call(callback)

    def commit(self, raw: Any, cursor: Any) -> None:
        """COMMIT, and believe it only where the server says so: what had failed is rolled back without an error."""
        self._dialect.say(cursor, "COMMIT")
        if (cursor_says := getattr(cursor, "statusmessage", None)) not in (None, "COMMIT"):
            raise StoreError(
                f"the database {self._where} answered COMMIT with {cursor_says}: nothing was stored"
            )

    def landed(self, proof: Proof, number: Any, patience: Patience) -> bool:
        """Whether a transaction was committed whose COMMIT was not answered, by the connection ``number``.

        Raises:
            StoreError: the database did not come back in time: nobody knows.
        """
        while True:
            try:
                return self._look(proof, number, patience)
            except Exception as error:
                if not (self._dialect.refused(error) and patience.wait()):
                    raise StoreError(
                        f"the connection to {self._where} broke while a commit was under way, and the database "
                        "did not come back to be asked: whether this was stored is not known; look there"
                    ) from error

    def _look(self, proof: Proof, number: Any, patience: Patience) -> bool:
        raw = self._pool.take(patience.left)
        cursor = raw.cursor()
        try:
            try:
                self._dialect.kill(cursor, number)
            except Exception as error:  # it is gone, or not ours to end: then the insert waits for it
                if self._dialect.lost(error):
                    raise
            tx = ServerTx(cursor, self._dialect, False)
            found = landed(tx, proof)
            self._dialect.say(cursor, "ROLLBACK")
        except BaseException:
            self._pool.drop(raw)
            raise
        self._pool.give_back(raw)
        return found

    def _undo(self, raw: Any, cursor: Any, tx: ServerTx, error: BaseException) -> None:
        if isinstance(error, Exception) and not self._dialect.lost(error):
            try:
                if tx.begun:
                    self._dialect.say(cursor, "ROLLBACK")
                self._pool.give_back(raw)
                return
            except Exception:  # closing it rolls back
                pass
        self._pool.drop(raw)
        if self._dialect.lost(error):
            self._pool.forget()


def _call(callback: Callable[[], None]) -> None:
    try:
        callback()
    except Exception:  # it is committed all the same
        logging.getLogger("ax").exception("what should follow a commit failed")
