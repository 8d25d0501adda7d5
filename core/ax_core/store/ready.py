"""Tasks that somebody may run now, and the search through them: part by part, so that none of them hides another."""

from __future__ import annotations

from collections.abc import Callable, Iterator
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

    Each state of each namespace is read in the order of its index, so that no more is looked at than is asked for.

    Args:
        after: behind this id.
        before: only those that were submitted until then.
        ns: only those of one namespace.
    """
    only = "" if before is None else " AND created_at <= :before"
    given = {"now": now, "limit": limit, "after": after, **({} if before is None else {"before": before})}
    found = [
        Ready(*row)
        for state in ("QUEUED", "RETRY_WAIT")
        for each in ([ns] if ns is not None else _namespaces(tx, state))
        for row in tx.all(f"{_READY}{only} ORDER BY id LIMIT :limit", state=state, ns=each, **given)
    ]
    return sorted(found)[:limit]


def _namespaces(tx: Tx, state: str) -> Iterator[str]:
    """Those that have tasks in a state, found by going from each to the next."""
    ns = ""
    while (ns := tx.one(_NEXT_NS, state=state, ns=ns)[0]) is not None:
        yield ns


_READY = (
    f"SELECT {columns(Ready)} FROM ax_task WHERE state = :state AND state <> 'SUCCESS' AND ns = :ns AND id > :after "
    "AND (due_at IS NULL OR due_at <= :now) AND (attempt_open = 0 OR effect = 'read')"
)
_NEXT_NS = "SELECT MIN(ns) FROM ax_task WHERE state = :state AND state <> 'SUCCESS' AND ns > :ns"


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
