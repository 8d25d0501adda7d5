"""Shared commits: concurrent callers' operations go into one transaction, and each is answered after COMMIT.

Whoever finds nobody leading leads (see :mod:`.line`): it takes what is in line, runs each operation, commits once, and
hands the lead to the next that waits. If one of several fails they all run again, each under a savepoint of its own.
A caller that is alone pays nothing for this.
Callers on an event loop never lead on it: a helper thread does.
"""

from __future__ import annotations

import _thread
import asyncio
import logging
from collections.abc import Callable, Sequence
from typing import Any, TypeVar, cast

from .. import faults
from ..threads import Threads
from .dialects import PAGE, Dialect
from .line import Exclusive, Item, Line
from .turn import begin
from .tx import Op, Told, Tx

T = TypeVar("T")
BATCH = 64
CHECKPOINT_EVERY = 400
"""Operations after which the log is written back into the file, by a thread of its own."""
LOG_PAGES = 4000
"""A log this long is begun anew. Writers wait a moment for that: beside them it is never written back as a whole."""

# How far the batch in hand has come: what to do with it if its leader was interrupted (Ctrl-C) on the way.
_WORKING, _COMMITTING, _ANSWERING = range(3)


class Commits:
    """Runs write operations on the one writing connection of this process."""

    def __init__(self, connect: Callable[[], Any], dialect: Dialect, threads: Threads, url: str) -> None:
        self._connect, self._dialect, self._threads, self._url = connect, dialect, threads, url
        self._line = Line(self._lead, threads)
        self._batch: Sequence[Item] = ()
        self._stage = _WORKING
        self._raw: Any = None
        self._cursor: Any = None
        self._full: bool | None = None
        self._since_checkpoint = 0
        self._checkpointing = _thread.allocate_lock()
        self._resting: Exclusive | None = None

    def run(self, op: Op[T], name: str, durable: bool = False) -> T:
        """Run ``op`` in a committed transaction, on this thread or on that of whoever leads.

        An interrupted caller's operation still completes.

        Raises:
            StoreError: the database refused; nothing of ``op`` is stored.
        """
        item = Item(op, name, durable)
        self._line.through(item)
        return cast(T, item.outcome())

    def queued(self, op: Op[T], name: str, durable: bool = False) -> asyncio.Future[T]:
        """:meth:`run` for an event loop, which it never blocks: the answer is a future of the running loop.

        To cancel that is to lose the answer; the operation still completes.
        """
        item = Item(op, name, durable)
        item.loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = item.loop.create_future()
        item.future = future
        self._line.queue(item)
        return future

    def later(self, op: Op[T], name: str, durable: bool, told: Told) -> None:
        """:meth:`run` for a thread that has more to do than wait: ``told`` gets the result and the error.

        It is called once or, where a leader was interrupted, twice: here, or by whoever leads, whom it must not block.
        """
        item = Item(op, name, durable)
        item.told = told
        self._line.leave_it(item)

    def exclusive(self) -> Exclusive:
        """Keep every other write of this process waiting, for one that holds the database's write lock itself."""
        held = self._line.exclusive()
        assert held is not None
        return held

    def rest(self, seconds: float) -> bool:
        """Hold still with no connection open, until :meth:`go_on`; False: it does not come to that in time."""
        if not self._checkpointing.acquire(timeout=seconds):
            return False
        self._resting = self._line.exclusive(seconds)
        if self._resting is None:
            self._checkpointing.release()
            return False
        self._discard()
        return True

    def go_on(self) -> None:
        """The end of a rest."""
        held, self._resting = self._resting, None
        if held is not None:
            held.release()
            self._checkpointing.release()

    def close(self) -> None:
        """Checkpoint and close; callers must have stopped."""
        mine = self._checkpointing.acquire(timeout=1.0)
        held = self.exclusive()
        try:
            raw, self._raw = self._raw, None
            if raw is not None:
                try:
                    # Not worth a wait: where others read, the next opener checkpoints.
                    raw.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
                except Exception:
                    pass
                raw.close()
        finally:
            held.release()
            if mine:
                self._checkpointing.release()

    # -- leading ---------------------------------------------------------------------------------------------

    def _lead(self) -> None:
        """Answer what stands first in line."""
        if self._batch:
            self._resume()
        batch = self._first()
        if not batch:
            return
        self._stage, self._batch = _WORKING, batch
        if self._commit(batch) or (len(batch) > 1 and self._commit(batch, apart=True)):
            self._settle()
        else:
            # It failed as a whole: find out whose operation it is, and let the others pass.
            for item in batch:
                self._stage, self._batch = _WORKING, [item]
                self._commit(self._batch)
                self._settle()
        self._since_checkpoint += len(batch)
        if self._since_checkpoint >= CHECKPOINT_EVERY and self._checkpointing.acquire(False):
            self._since_checkpoint = 0
            self._threads.spawn(self._checkpoint)

    def _first(self) -> list[Item]:
        """Those whose turn it is; they stay in line until they are answered."""
        items = self._line.items
        batch: list[Item] = []
        if len(items) == 1:  # the common case, in fewer steps
            item = items[0]
            return batch if item.op is None else [item]
        for at in range(min(len(items), BATCH)):
            item = items[at]
            if item.op is None:
                break
            batch.append(item)
        return batch

    def _resume(self) -> None:
        """The leader before this one was interrupted: what is stored is answered, the rest runs again."""
        raw = self._raw
        if self._stage != _ANSWERING and raw is not None and raw.in_transaction:
            self._rollback(raw)
        elif self._stage != _WORKING:
            self._settle()
        self._stage, self._batch = _WORKING, ()
        self._line.leave()

    # -- committing ------------------------------------------------------------------------------------------

    def _commit(self, batch: Sequence[Item], apart: bool = False) -> bool:
        """Run and commit; False: it failed as a whole, and nothing of it is stored.

        Args:
            apart: an operation that fails is undone alone. That costs two statements for each.
        """
        alone = len(batch) == 1
        try:
            raw = self._raw or self._opened()
            cursor = self._cursor
            full = batch[0].durable if alone else any([item.durable for item in batch])
            if full is not self._full:
                self._dialect.durability(raw, full)
                self._full = full
            begin(cursor)
        except Exception as error:
            self._discard()
            for item in batch:
                item.error, item.tx = self._explain(error), None
            return True
        try:
            for item in batch:
                if not (self._run_apart(raw, cursor, item) if apart else self._run(cursor, item)):
                    self._rollback(raw)
                    return alone
            for item in batch:
                faults.point(item.name + ".before_commit")
            self._stage = _COMMITTING
            cursor.execute("COMMIT")
        except Exception as error:
            self._stage = _WORKING
            self._rollback(raw)
            batch[0].error, batch[0].tx = self._explain(error), None
            return alone
        for item in batch:
            faults.point(item.name + ".after_commit")
        return True

    def _run(self, cursor: Any, item: Item) -> bool:
        assert item.op is not None
        item.error, item.tx = None, Tx(cursor, self._dialect)
        try:
            item.result = item.op(item.tx)
        except Exception as error:
            item.error, item.tx = self._explain(error), None
            return False
        return True

    def _run_apart(self, raw: Any, cursor: Any, item: Item) -> bool:
        """Run one of several; False: its error ended the whole transaction."""
        cursor.execute("SAVEPOINT op")
        if not self._run(cursor, item):
            if not raw.in_transaction:
                return False
            cursor.execute("ROLLBACK TO op")
        cursor.execute("RELEASE op")
        return True

    def _settle(self) -> None:
        """Answer the batch in hand and let it leave the line. Done twice, it does no more than once."""
        self._stage = _ANSWERING
        coroutines: list[Item] = []
        for item in self._batch:
            item.done = True
            if item.error is None and item.tx is not None and item.tx.after:
                self._call_back(item.tx)
            if item.told is not None:
                item.told(item.result, item.error)
            elif item.loop is None:
                item.tell()
            else:
                coroutines.append(item)
        if coroutines:
            _tell_loops(coroutines)
        self._line.leave()
        self._batch = ()

    def _call_back(self, tx: Tx) -> None:
        for callback in tx.after:
            try:
                callback()
            except Exception:  # it is committed all the same, and the others wait for their answer
                logging.getLogger("ax").exception("what should follow a commit failed")

    def _opened(self) -> Any:
        raw = self._connect()
        if (
            raw.execute("PRAGMA journal_mode").fetchone()[0] == "wal"
        ):  # else a COMMIT may have to wait for readers
            raw.execute("PRAGMA busy_timeout=0").fetchall()
        self._cursor, self._full = raw.cursor(), None
        self._raw = raw
        if self._dialect.log_size(self._url) > PAGE * LOG_PAGES:  # left by processes that were killed
            self._since_checkpoint = CHECKPOINT_EVERY
        return raw

    def _discard(self) -> None:
        raw, self._raw = self._raw, None
        if raw is not None:
            try:
                raw.close()
            except Exception:
                pass

    def _rollback(self, raw: Any) -> None:
        try:
            if raw.in_transaction:
                raw.execute("ROLLBACK")
        except Exception:  # closing it rolls back
            self._discard()

    def _explain(self, error: Exception) -> Exception:
        return self._dialect.explain(error, self._url) if self._dialect.refused(error) else error

    def _checkpoint(self) -> None:
        try:
            raw = self._connect()
            try:
                log = raw.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()[0][1]
                if log >= LOG_PAGES:
                    self._begin_log_anew(raw)
            finally:
                raw.close()
        except Exception:  # the next one will do
            pass
        finally:
            self._checkpointing.release()

    def _begin_log_anew(self, raw: Any) -> None:
        # Who reads an old snapshot keeps the log as it is; that is not worth the writers' wait.
        raw.execute("PRAGMA busy_timeout=20").fetchall()
        held = self.exclusive()
        try:
            raw.execute("PRAGMA wal_checkpoint(RESTART)").fetchall()
        finally:
            held.release()


def _tell_loops(answered: list[Item]) -> None:
    loops: dict[asyncio.AbstractEventLoop, list[Item]] = {}
    for item in answered:
        assert item.loop is not None
        loops.setdefault(item.loop, []).append(item)
    for loop, items in loops.items():
        try:
            loop.call_soon_threadsafe(_resolve, items)
        except RuntimeError:  # that loop is closed: nobody waits there any more
            pass


def _resolve(items: list[Item]) -> None:
    for item in items:
        future = item.future
        if future is not None and not future.done():
            if item.error is not None:
                future.set_exception(item.error)
                future.exception()  # a caller that went away must not make the loop complain
            else:
                future.set_result(item.result)
