"""The store of one process that a test may let die: real SQLite, but from then on it records and answers nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from ..dispatch import current_task
from ..faults import Crash
from ..store import Database, Op
from ..store.held import Held
from ..threads import Threads

if TYPE_CHECKING:
    from sqlalchemy import Connection

T = TypeVar("T")
Reached = Callable[["Mortal", str, str], None]
"""Told of (this store, where, tool) after a commit; may raise :class:`Crash`."""


class Mortal(Database):
    """A database in memory, shared by all processes that a test pretends to have."""

    def __init__(self, url: str, *, reached: Reached, memory: str | None, **given: Any) -> None:
        super().__init__(url, **given)
        self._memory = memory or self._memory
        self._reached = reached
        self._held: list[_MortalHeld] = []
        self.crash: Crash | None = None

    @property
    def memory(self) -> str:
        """Its name, for the next process."""
        return self._memory

    def die(self, crash: Crash) -> None:
        """Answer nothing from now on; what was not committed is lost."""
        self.crash = crash
        for held in tuple(self._held):
            held.abort()

    def write(self, op: Op[T], name: str = "control", durable: bool = False) -> T:
        self._alive()
        return self._told(name, super().write(op, name, durable))

    def queued(self, op: Op[T], name: str = "control", durable: bool = False) -> asyncio.Future[T]:
        self._alive()
        stored = super().queued(op, name, durable)
        told: asyncio.Future[T] = stored.get_loop().create_future()

        def answer(done: asyncio.Future[T]) -> None:
            if told.done():
                return
            try:
                told.set_result(self._told(name, done.result()))
            except BaseException as error:
                told.set_exception(error)
                told.exception()  # a caller that went away must not make the loop complain

        stored.add_done_callback(answer)
        return told

    def read(self, op: Op[T]) -> T:
        self._alive()
        return super().read(op)

    def transaction(self) -> Held:
        self._alive()
        return _MortalHeld(self, self._held, self._reached)

    def entered(self, connection: Connection, tool: str) -> None:
        """Learn whose transaction it is."""
        for held in self._held:
            if held.connection is connection:
                held.tool = tool

    def _alive(self) -> None:
        if self.crash is not None:
            raise self.crash

    def _told(self, name: str, result: T) -> T:
        if name == "mark" and (inside := current_task.get()) is not None and inside.row is not None:
            self._reached(self, "mark", inside.row.tool)
        elif name == "record" and result is not None:
            self._reached(self, "recorded", result.row.tool)  # type: ignore[attr-defined]
        return result


class _MortalHeld(Held):
    """A transaction that ends with its process."""

    def __init__(self, home: Mortal, among: list[_MortalHeld], reached: Reached) -> None:
        super().__init__(home)
        self._home, self._among, self._reached, self.tool = home, among, reached, ""
        among.append(self)

    def commit(self) -> None:
        super().commit()
        self._reached(self._home, "recorded", self.tool)

    def abort(self) -> None:
        self._over()
        super().abort()

    def _close(self) -> None:
        self._over()
        super()._close()

    def _over(self) -> None:
        if self in self._among:
            self._among.remove(self)


class Mourning(Threads):
    """Threads on which a crash ends the job and makes no noise: nobody is left to hear it."""

    def spawn(self, job: Callable[[], None]) -> None:
        def quietly() -> None:
            try:
                job()
            except Crash:
                pass

        super().spawn(quietly)
