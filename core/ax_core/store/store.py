"""What the rest of AX sees of a database, whichever it is."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Protocol, TypeVar

from ..clock import Clock
from ..threads import Threads
from .tx import Op, Told, Tx

if TYPE_CHECKING:
    from sqlalchemy import Connection, Engine

T = TypeVar("T")


class Lent(Protocol):
    """The transaction of a TRANSACTIONAL body.

    Attributes:
        connection: what the tool gets.
    """

    connection: Connection

    @property
    def tx(self) -> Tx:
        """What AX writes its own record in, as its last statements."""

    def check(self) -> None:
        """Whether there is anything to commit; raises PolicyError where the tool ended it itself."""

    def commit(self) -> None:
        """Make the tool's writes and AX's record true together."""

    def roll_back(self) -> None:
        """Undo what was written; harmless after the end."""

    def abort(self) -> None:
        """From another thread: roll back under a body that does not end. Never blocks."""


class Store(ABC):
    """Runs operations; opens nothing before the first one.

    Attributes:
        url, where: its address, as it was given and as it is shown to people.
        path: the file, where it is one.
        clock: the time that its leases are kept in.
        survives_fork: whether a child process finds what this one wrote.
    """

    url: str
    where: str
    path: str | None = None
    clock: Clock
    threads: Threads
    survives_fork = True

    @abstractmethod
    def open(self) -> None:
        """Create or check the schema; called once, before the first operation.

        Raises:
            StoreError: it cannot be opened, or its schema is not this version's.
        """

    @abstractmethod
    def write(self, op: Op[T], name: str = "control", durable: bool = False) -> T:
        """Run ``op`` in a committed transaction.

        An interrupted caller's operation still completes.

        Raises:
            StoreError: the database refused; nothing is stored, unless the message says that this is not known.
        """

    def write_later(self, op: Op[T], name: str, durable: bool, told: Told) -> None:
        """:meth:`write` for a thread that need not wait: ``told`` gets the result or the error.

        It may be called before this returns, by whichever thread does the writing, which it must not block; and twice.
        """
        try:
            result = self.write(op, name, durable)
        except BaseException as error:
            told(None, error)
        else:
            told(result, None)

    async def awrite(self, op: Op[T], name: str = "control", durable: bool = False) -> T:
        """:meth:`write` without blocking the event loop."""
        return await asyncio.shield(self.queued(op, name, durable))

    @abstractmethod
    def queued(self, op: Op[T], name: str = "control", durable: bool = False) -> asyncio.Future[T]:
        """:meth:`awrite` as a future of the running loop."""

    @abstractmethod
    def read(self, op: Op[T]) -> T:
        """Run ``op`` on one consistent snapshot."""

    @abstractmethod
    async def aread(self, op: Op[T]) -> T:
        """:meth:`read` on a helper thread."""

    @abstractmethod
    def flush(self) -> None:
        """Wait until the operations are done that interrupted callers left under way."""

    @abstractmethod
    def transaction(self) -> Lent:
        """Begin a transaction for a TRANSACTIONAL body."""

    def beat(self) -> None:  # noqa: B027 - most need nothing
        """What the store needs once a heartbeat."""

    @property
    @abstractmethod
    def engine(self) -> Engine:
        """The SQLAlchemy engine; made on first use unless the user gave one."""

    @abstractmethod
    def close(self) -> None:
        """Close every connection."""
