"""A database on a server, as one process uses it: its connections, its clock, and its life from first use to close."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from ...clock import Clock
from ...threads import Threads
from ..errands import Errands
from ..store import Store
from ..tx import Op, Tx
from . import migrating
from .address import Address
from .clock import DatabaseClock
from .held import ServerHeld
from .pool import Pool
from .proof import KEEP_SECONDS, KEPT
from .reads import ServerReads
from .writes import Writes

if TYPE_CHECKING:
    from sqlalchemy import Engine

T = TypeVar("T")
CONNECTIONS = 5
"""For writing, and as many for reading; one more is for leases alone."""
SECONDS = 20.0
"""How long an operation is tried while the database is away: a claim of 30 s outlasts that."""
LEASE_SECONDS = 3.0
"""How long a renewal is tried; the next one comes soon."""


class Server(Store):
    """Runs operations; opens nothing before the first one.

    Args:
        url: an SQLAlchemy URL of PostgreSQL or MySQL.
        engine: the user's own engine, shared instead of made from ``url``.
        announce: told once, at opening, where the record is kept.
    """

    def __init__(
        self,
        url: str,
        *,
        clock: Clock,
        threads: Threads,
        engine: Engine | None = None,
        announce: Callable[[str], None] = lambda where: None,
    ) -> None:
        self._address = Address(engine.url if engine is not None else url, engine)
        self.url, self.where, self.dialect = url, self._address.where, self._address.dialect
        self.clock: DatabaseClock = DatabaseClock(clock)
        self.threads, self._announce = threads, announce
        self._writing, self._reading, self._leasing = (
            Pool(self._address.connect, size, self.where) for size in (CONNECTIONS, CONNECTIONS, 1)
        )
        self.commits = self._writes(self._writing, SECONDS)
        self._leases = self._writes(self._leasing, LEASE_SECONDS)
        self.reads = ServerReads(self._reading, self.dialect, self.clock, self.where, SECONDS)
        self._errands = Errands(threads, CONNECTIONS)
        self._reading_errands = Errands(threads, CONNECTIONS)

    def open(self) -> None:
        self._leasing.adopt(migrating.check(self._address))
        self.beat()
        self._announce(self.where)

    def write(self, op: Op[T], name: str = "control", durable: bool = False) -> T:
        return self._errands.through(lambda: self._run(op, name, durable))

    def queued(self, op: Op[T], name: str = "control", durable: bool = False) -> asyncio.Future[T]:
        return self._errands.ask(lambda: self._run(op, name, durable))

    def read(self, op: Op[T]) -> T:
        return self._reading_errands.through(lambda: self.reads.run(op))

    async def aread(self, op: Op[T]) -> T:
        return await self._reading_errands.ask(lambda: self.reads.run(op))

    def flush(self) -> None:
        self._errands.flush()

    def transaction(self) -> ServerHeld:
        return ServerHeld(self)

    def beat(self) -> None:
        """Look at the server's clock, and forget proofs that nobody looks for any more."""

        def op(tx: Tx) -> None:
            before = self.clock.monotonic()
            shown = self.dialect.now(tx.cursor)
            self.clock.measured(shown, before, self.clock.monotonic())
            tx.run(f"DELETE FROM {KEPT} WHERE at < :old", old=shown - KEEP_SECONDS * 1_000_000)

        self._leases.run(op, "lease")

    @property
    def engine(self) -> Engine:
        return self._address.engine

    def cut(self, number: Any) -> None:
        """End a connection of this user to the server, by its number or by what was lent with it.

        Raises:
            StoreError: it did not let us.
        """

        def op(tx: Tx) -> None:
            self.dialect.kill(tx.cursor, number)

        self._leases.run(op)

    def close(self) -> None:
        for pool in (self._writing, self._reading, self._leasing):
            pool.close()
        self._address.close()

    def _run(self, op: Op[T], name: str, durable: bool) -> T:
        return (self._leases if name == "lease" else self.commits).run(op, name, durable)

    def _writes(self, pool: Pool, seconds: float) -> Writes:
        return Writes(pool, self.dialect, self.clock, self.where, seconds)
