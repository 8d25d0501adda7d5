"""Tasks that somebody may run now, and the search through them: part by part, so that none of them hides another."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from ..clock import Micros
from .store import Store
from .tx import Tx, columns


class Ready(NamedTuple):
    """What is known of such a task without what it carries, which may be large."""

    id: str
    ns: str
    tool: str
    origin: str
    due_at: Micros | None
    created_at: Micros


def ready(
    tx: Tx, now: Micros, limit: int, *, after: str = "", before: Micros | None = None, ns: str | None = None
) -> list[Ready]:
    """Queued, or their retry is due, and no attempt is open that must end first; oldest first.

    Args:
        after: behind this id.
        before: only those that were submitted until then.
        ns: only those of one namespace.
    """
    only, params = "", {"now": now, "limit": limit, "after": after}
    for name, condition, value in (("before", "created_at <=", before), ("ns", "ns =", ns)):
        if value is not None:
            only += f" AND {condition} :{name}"
            params[name] = value
    sql = (
        f"SELECT {columns(Ready)} FROM ax_task WHERE state IN ('QUEUED', 'RETRY_WAIT') AND state <> 'SUCCESS' "
        f"AND (due_at IS NULL OR due_at <= :now) AND (attempt_open = 0 OR effect = 'read') AND id > :after{only} "
        "ORDER BY id LIMIT :limit"
    )
    return [Ready(*row) for row in tx.all(sql, **params)]


class Search:
    """Each look goes on behind the last; behind the last of all it begins anew.

    Args:
        part: how many are looked at at a time.
        ns: of one namespace only.
    """

    def __init__(self, part: int, ns: str | None = None) -> None:
        self._part, self._ns, self._after = part, ns, ""

    @property
    def midway(self) -> bool:
        """There may be more behind what was looked at."""
        return bool(self._after)

    def look(
        self, db: Store, now: Micros, take: Callable[[Ready], bool], before: Micros | None = None
    ) -> None:
        """Show the next ones to ``take``, until it says that there is no room: the next look begins with that one."""
        after = self._after
        found = db.read(lambda tx: ready(tx, now, self._part, after=after, before=before, ns=self._ns))
        for row in found:
            if not take(row):
                # Without a single one taken there is nothing to go on behind.
                self._after = after
                return
            after = row.id
        self._after = after if len(found) == self._part else ""

    def begin_anew(self) -> None:
        """The next look begins with the oldest."""
        self._after = ""
