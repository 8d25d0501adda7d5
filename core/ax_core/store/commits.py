"""Shared commits: concurrent callers' operations go into one transaction, and each is answered after COMMIT.

Whoever finds nobody leading leads: it takes what is queued, runs each operation under a savepoint of its own,
commits once, and hands the lead to the next that waits. A caller that is alone pays nothing for this. Callers on
an event loop never lead on it: a helper thread does.
"""

from __future__ import annotations

import _thread
import asyncio
from collections import deque
from collections.abc import Callable
from typing import Any, TypeVar, cast

from .. import faults
from ..errors import StoreError
from ..threads import Threads
from .dialects import Dialect
from .tx import Op, Tx

T = TypeVar("T")
BATCH = 64
CHECKPOINT_EVERY = 400


class _Item:
    """One operation on its way: waits on a lock (a thread) or a future (a coroutine)."""

    __slots__ = ("done", "durable", "error", "future", "loop", "name", "op", "result", "tx", "wake")

    def __init__(self, op: Op[Any] | None, name: str, durable: bool) -> None:
        self.op, self.name, self.durable = op, name, durable
        self.done = False
        self.result: Any = None
        self.error: BaseException | None = None
        self.tx: Tx | None = None
        self.wake = _thread.allocate_lock()
        self.wake.acquire()
        self.loop: asyncio.AbstractEventLoop | None = None
        self.future: asyncio.Future[Any] | None = None

    def outcome(self) -> Any:
        if self.error is not None:
            raise self.error
        return self.result


class Exclusive:
    """The lead, held; let go of once, by whoever is first."""

    def __init__(self, pass_on: Callable[[], None]) -> None:
        self._pass_on = pass_on
        self._held = _thread.allocate_lock()

    def release(self) -> None:
        """Let the others write again."""
        if self._held.acquire(False):
            self._pass_on()


class Commits:
    """Runs write operations on the one writing connection of this process."""

    def __init__(self, connect: Callable[[], Any], dialect: Dialect, threads: Threads, url: str) -> None:
        self._connect, self._dialect, self._threads, self._url = connect, dialect, threads, url
        self._queue: deque[_Item] = deque()
        self._leading = _thread.allocate_lock()
        self._raw: Any = None
        self._full: bool | None = None
        self._since_checkpoint = 0
        self._checkpointing = False

    def run(self, op: Op[T], name: str, durable: bool = False) -> T:
        """Run ``op`` in a committed transaction, on this thread or on that of whoever leads.

        Raises:
            StoreError: the database refused; nothing of ``op`` is stored.
        """
        item = _Item(op, name, durable)
        if self._lead_or_wait(item):
            try:
                self._commit(self._take())
            finally:
                self._pass_on()
        return cast(T, item.outcome())

    async def arun(self, op: Op[T], name: str, durable: bool = False) -> T:
        """:meth:`run` for an event loop, which it never blocks; a cancelled caller's operation still completes."""
        item = _Item(op, name, durable)
        item.loop = asyncio.get_running_loop()
        item.future = item.loop.create_future()
        self._queue.append(item)
        if self._leading.acquire(False):
            self._threads.spawn(self._lead)
        return cast(T, await asyncio.shield(item.future))

    def exclusive(self) -> Exclusive:
        """Keep every other write of this process waiting, for one that holds the database's write lock itself."""
        item = _Item(None, "exclusive", True)
        self._lead_or_wait(item)
        self._queue.popleft()
        item.done = True
        return Exclusive(self._pass_on)

    def close(self) -> None:
        """Checkpoint and close; callers must have stopped."""
        with self._leading:
            raw, self._raw = self._raw, None
            if raw is not None:
                try:
                    raw.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
                except Exception:  # readers elsewhere: the next opener checkpoints
                    pass
                raw.close()

    # -- leading ---------------------------------------------------------------------------------------------

    def _lead_or_wait(self, item: _Item) -> bool:
        """True when this thread holds the lead (``item`` still queued); False when ``item`` is done."""
        self._queue.append(item)
        if self._leading.acquire(False):
            if item.op is None and self._queue[0] is not item:
                # An exclusive item waits its turn: let a helper lead those before it.
                self._threads.spawn(self._lead)
            else:
                return True
        try:
            item.wake.acquire()
        except BaseException:  # Ctrl-C while waiting: the lead may come to this item later, so somebody must stay
            self._threads.spawn(lambda: self._stand_in(item))
            raise
        return not item.done

    def _stand_in(self, item: _Item) -> None:
        item.wake.acquire()
        if item.done:
            return
        if item.op is None:
            self._queue.popleft()
            self._pass_on()
        else:
            self._lead()

    def _lead(self) -> None:
        try:
            self._commit(self._take())
        finally:
            self._pass_on()

    def _take(self) -> list[_Item]:
        batch: list[_Item] = []
        queue = self._queue
        while queue and len(batch) < BATCH and queue[0].op is not None:
            batch.append(queue.popleft())
        return batch

    def _pass_on(self) -> None:
        while True:
            try:
                following = self._queue[0]
            except IndexError:
                self._leading.release()
                # Somebody may have queued between the look and the release, and found the lead taken.
                if self._queue and self._leading.acquire(False):
                    continue
                return
            if following.loop is not None:
                self._threads.spawn(self._lead)
            else:
                following.wake.release()
            return

    # -- committing ------------------------------------------------------------------------------------------

    def _commit(self, batch: list[_Item]) -> None:
        if not batch:
            return
        try:
            raw = self._connection()
            self._begin(raw, any(item.durable for item in batch))
        except Exception as error:
            self._discard()
            for item in batch:
                item.error = self._explain(error)
            self._settle(batch)
            return
        try:
            if len(batch) == 1:
                self._run_alone(raw, batch[0])
            else:
                self._run_together(raw, batch)
        except BaseException:
            # Only an interrupt of this very thread comes here; the others are owed their answer.
            committed = not raw.in_transaction
            if not committed:
                raw.execute("ROLLBACK")
                for item in batch:
                    item.error = item.error or StoreError("the commit was interrupted; nothing of it is stored")
            self._settle(batch)
            raise
        self._settle(batch)
        self._since_checkpoint += len(batch)
        if self._since_checkpoint >= CHECKPOINT_EVERY and not self._checkpointing:
            self._since_checkpoint, self._checkpointing = 0, True
            self._threads.spawn(self._checkpoint)

    def _run_alone(self, raw: Any, item: _Item) -> None:
        assert item.op is not None
        item.error, item.tx = None, Tx(raw.cursor(), self._dialect)
        try:
            item.result = item.op(item.tx)
            faults.point(item.name + ".before_commit")
            raw.execute("COMMIT")
        except Exception as error:
            self._rollback(raw)
            item.tx = None
            item.error = self._explain(error)
            return
        faults.point(item.name + ".after_commit")

    def _run_together(self, raw: Any, batch: list[_Item]) -> None:
        cursor = raw.cursor()
        for item in batch:
            assert item.op is not None
            item.error, item.tx = None, Tx(cursor, self._dialect)
            cursor.execute("SAVEPOINT op")
            try:
                item.result = item.op(item.tx)
                cursor.execute("RELEASE op")
            except Exception as error:
                item.tx = None
                item.error = self._explain(error)
                if not raw.in_transaction:  # the error ended the whole transaction
                    return self._one_by_one(raw, batch)
                cursor.execute("ROLLBACK TO op")
                cursor.execute("RELEASE op")
        for item in batch:
            faults.point(item.name + ".before_commit")
        try:
            raw.execute("COMMIT")
        except Exception:
            self._rollback(raw)
            return self._one_by_one(raw, batch)
        for item in batch:
            faults.point(item.name + ".after_commit")

    def _one_by_one(self, raw: Any, batch: list[_Item]) -> None:
        # The batch failed as a whole: find out whose operation it is, and let the others pass.
        for item in batch:
            try:
                self._begin(raw, item.durable)
            except Exception as error:
                item.error = self._explain(error)
            else:
                self._run_alone(raw, item)

    def _settle(self, batch: list[_Item]) -> None:
        loops: dict[asyncio.AbstractEventLoop, list[_Item]] = {}
        for item in batch:
            item.done = True
            if item.tx is not None and item.error is None:
                for callback in item.tx.after:
                    callback()
            if item.loop is None:
                item.wake.release()
            else:
                loops.setdefault(item.loop, []).append(item)
        for loop, items in loops.items():
            try:
                loop.call_soon_threadsafe(_resolve, items)
            except RuntimeError:  # that loop is closed: nobody waits there any more
                pass

    def _connection(self) -> Any:
        if self._raw is None:
            self._raw, self._full = self._connect(), None
        return self._raw

    def _discard(self) -> None:
        raw, self._raw = self._raw, None
        if raw is not None:
            try:
                raw.close()
            except Exception:
                pass

    def _begin(self, raw: Any, full: bool) -> None:
        if full is not self._full:
            self._dialect.durability(raw, full)
            self._full = full
        raw.execute("BEGIN IMMEDIATE")

    def _rollback(self, raw: Any) -> None:
        if raw.in_transaction:
            raw.execute("ROLLBACK")

    def _explain(self, error: BaseException) -> BaseException:
        return self._dialect.explain(error, self._url) if _from_driver(error) else error

    def _checkpoint(self) -> None:
        try:
            raw = self._connect()
            try:
                raw.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()
            finally:
                raw.close()
        except Exception:  # the next one will do
            pass
        finally:
            self._checkpointing = False


def _resolve(items: list[_Item]) -> None:
    for item in items:
        future = item.future
        if future is not None and not future.done():
            if item.error is not None:
                future.set_exception(item.error)
                future.exception()  # a caller that went away must not make the loop complain
            else:
                future.set_result(item.result)


def _from_driver(error: BaseException) -> bool:
    import sqlite3

    return isinstance(error, sqlite3.Error)
