"""Shared commits over a file with one table of numbers: who wrote what, and how often."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from ax_core.store.commits import Commits
from ax_core.store.dialects import Dialect
from ax_core.store.tx import Op, Tx
from ax_core.threads import Threads
from support.aside import Aside

PATIENCE = 20.0
LOOK_AGAIN = 0.03


class Ledger:
    """A table of numbers and the commits that write it.

    Attributes:
        raws: every connection that was opened for writing, oldest first.
    """

    def __init__(self, path: Path) -> None:
        self.path, self.threads = path, Threads()
        self.raws: list[Any] = []
        raw = self._connect()
        raw.execute("CREATE TABLE IF NOT EXISTS entry (n INTEGER NOT NULL)")
        raw.execute("DELETE FROM entry")
        raw.close()
        self.commits = Commits(self._writer, Dialect(), self.threads, str(path))
        self.commits._line.items = self.line = Noted()

    def put(self, n: int) -> int:
        """Write a number on this thread."""
        return self.commits.run(putting(n), "control")

    def leave(self, n: int) -> int:
        """Have a number written by whoever leads, and wait to be told."""
        said: SimpleQueue[tuple[int, BaseException | None]] = SimpleQueue()
        self.commits.later(putting(n), "control", False, lambda result, error: said.put((result, error)))
        result, error = said.get(timeout=PATIENCE)
        if error is not None:
            raise error
        return result

    async def aput(self, n: int) -> int:
        """Write a number from an event loop."""
        return await self.arun(putting(n))

    async def arun(self, op: Op[Any]) -> Any:
        """Run an operation from an event loop; a cancelled caller's still completes."""
        return await asyncio.shield(self.commits.queued(op, "control"))

    def entries(self) -> list[int]:
        """What is committed, in order of number."""
        raw = self._connect()
        try:
            return [row[0] for row in raw.execute("SELECT n FROM entry ORDER BY n")]
        finally:
            raw.close()

    def becomes(self, entries: list[int], seconds: float = PATIENCE) -> bool:
        """Whether the table comes to hold this; helper threads may still be at it."""
        return until(lambda: self.entries() == entries, seconds)

    def close(self) -> None:
        """Close what is open for writing."""
        self.commits.close()

    @property
    def in_line(self) -> int:
        """How many operations stand in line, the one that is being led included."""
        return len(self.line)

    @property
    def free(self) -> bool:
        """Whether nobody leads and nobody waits."""
        return not self.line and not self.commits._line._holder

    @contextmanager
    def held_up(self, n: int = 0) -> Iterator[threading.Event]:
        """Another thread leads and is in the middle of writing ``n`` until the block ends, or sets the event."""
        begun, go = threading.Event(), threading.Event()

        def op(tx: Tx) -> int:
            begun.set()
            assert go.wait(PATIENCE)
            return putting(n)(tx)

        leading = Aside(lambda: self.commits.run(op, "control"))
        assert begun.wait(PATIENCE)
        try:
            yield go
        finally:
            go.set()
            leading.result()

    def stands(self, count: int) -> None:
        """Wait until so many operations stand in line."""
        assert until(lambda: self.in_line >= count), f"{self.in_line} in line, not {count}"

    def _connect(self) -> Any:
        raw = sqlite3.connect(self.path, check_same_thread=False)
        Dialect().prepare(raw)
        return raw

    def _writer(self) -> Any:
        self.raws.append(Watched(self._connect()))
        return self.raws[-1]


class Noted(deque[Any]):
    """A line that notes which threads have put something into it."""

    def __init__(self) -> None:
        super().__init__()
        self.by: set[int] = set()

    def append(self, item: Any, /) -> None:
        super().append(item)
        self.by.add(threading.get_ident())


class Watched:
    """A driver connection that counts its commits, and whose next statements can be made to fail."""

    def __init__(self, raw: Any) -> None:
        self._raw = raw
        self.commits = 0
        self.refuse: Callable[[str], Exception | None] = lambda sql: None

    def execute(self, sql: str, *params: Any) -> Any:
        self.seen(sql)
        return self._raw.execute(sql, *params)

    def cursor(self) -> WatchedCursor:
        return WatchedCursor(self, self._raw.cursor())

    def seen(self, sql: str) -> None:
        """A statement is about to run."""
        if (error := self.refuse(sql)) is not None:
            raise error
        self.commits += sql == "COMMIT"

    def __getattr__(self, name: str) -> Any:
        return getattr(self._raw, name)


class WatchedCursor:
    """A cursor of a watched connection."""

    def __init__(self, watched: Watched, raw: Any) -> None:
        self._watched, self._raw = watched, raw

    def execute(self, sql: str, *params: Any) -> Any:
        self._watched.seen(sql)
        return self._raw.execute(sql, *params)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._raw, name)


def putting(n: int) -> Op[int]:
    """Write a number; the result is its square."""

    def op(tx: Tx) -> int:
        tx.run("INSERT INTO entry VALUES (:n)", n=n)
        return n * n

    return op


def refusing(tx: Tx) -> None:
    """Writes, and then thinks better of it."""
    tx.run("INSERT INTO entry VALUES (99)")
    raise ValueError("no")


def until(true: Callable[[], Any], seconds: float = PATIENCE) -> bool:
    """Whether something comes true in time, for what tells nobody when it does."""
    give_up, pause = time.monotonic() + seconds, 0.001
    while not true():
        if time.monotonic() > give_up:
            return False
        time.sleep(pause)
        pause = min(1.5 * pause, LOOK_AGAIN)  # what takes long is not looked at all the time
    return True
