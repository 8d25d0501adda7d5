"""``axd migrate``: bring a database to this version's schema. On servers nothing else changes it."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

from ..clock import SystemClock
from ..errors import StoreError
from ..threads import Threads
from .options import HERE, Where
from .out import answer


def migrate(
    *,
    down: str | None = None,
    sql: Annotated[bool, Parameter(negative=())] = False,
    where: Where = HERE,
) -> int:
    """Make or change AX's tables, as this version needs them. Several may do so at once. SQLite files need it not.

    Args:
        down: go back to this revision; ``base`` drops every table of AX, with what is in it.
        sql: print the statements instead, for somebody who may run them.
    """
    from ..store.opening import default_url, in_a_file

    url = where.url or default_url()
    if in_a_file(url):
        return _file(url, down, sql, where)
    from ..store.servers import migrating
    from ..store.servers.address import Address

    if sql:
        print(migrating.script(url, down_to=down), end="")
        return 0
    before, after = migrating.down(url, down) if down is not None else migrating.up(url)
    shown = Address(url).where
    return _told(before, after, shown, where)


def _file(url: str, down: str | None, sql: bool, where: Where) -> int:
    from ..store import store_of
    from ..store.migrate import HEAD

    if down is not None or sql:
        raise StoreError(
            "a SQLite file is brought up by whoever opens it, and not down: go back to a copy of it"
        )
    store = store_of(url, clock=SystemClock(), threads=Threads())
    store.open()
    store.close()
    return _told(HEAD, HEAD, store.where, where)


def _told(before: str | None, after: str | None, shown: str, where: Where) -> int:
    said = {"database": shown, "before": before, "after": after}
    moved = f"from {before or 'nothing'} to {after or 'nothing'}" if before != after else f"is at {after}"
    answer(where.as_json, said, lambda on: on.print(f"{shown} {moved}", soft_wrap=True))
    return 0
