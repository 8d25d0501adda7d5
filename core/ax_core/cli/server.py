"""What the doctor finds on a database server: whether it is reached, its schema, its clock, and the record itself."""

from __future__ import annotations

from collections.abc import Iterator

from ..clock import SECOND, SystemClock
from ..store import Tx, migrate
from ..threads import Threads
from . import record
from .checks import FAIL, OK, WARN, Check, judged

APART = 2 * SECOND


def findings(url: str, deep: bool) -> Iterator[Check]:
    """One after the other, as far as it comes; ``deep``: every audit trail too.

    Raises:
        StoreError: the database cannot be reached.
        PolicyError: the URL is none.
    """
    from ..store.servers import Server, migrating
    from ..store.servers.address import Address

    address = Address(url)
    found = migrating.version(address)
    yield Check(OK, "database", address.where)
    if found != migrate.HEAD:
        newer = found is not None and found not in migrate.known()
        advice = "a newer AX wrote it: upgrade this one" if newer else "run axd migrate"
        yield Check(FAIL, "schema", f"{found or 'none'}, this AX needs {migrate.HEAD}", advice)
        return
    yield Check(OK, "schema", found)
    own = SystemClock()
    store = Server(url, clock=own, threads=Threads())
    store.open()
    try:
        yield from store.read(lambda tx: _record(tx, own.now(), store.clock.now(), deep))
    finally:
        store.close()


def _record(tx: Tx, own: int, now: int, deep: bool) -> list[Check]:
    apart = abs(own - now)
    message = f"this machine's is {apart / SECOND:.1f} s off the database's, which is the one that counts"
    checks = [judged(apart <= APART, "clocks", message, "use NTP on every machine", WARN)]
    for part in (record.clock(tx, now), record.attempts(tx, now), record.people(tx), record.declared(tx)):
        checks += part
    return checks + list(record.trails(tx)) if deep else checks
