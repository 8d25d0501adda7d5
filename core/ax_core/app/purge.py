"""Purging old tasks, a few in each transaction."""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

from ..clock import Micros, micros
from ..control import purge
from ..dispatch import acarry_out, carry_out
from ..dispatch.steps import Look, Step, Write
from ..store import Tx, retention

if TYPE_CHECKING:
    from ..dispatch import Wiring
    from .core import Core

LOOKED_AT = 500
TREES = 50
"""Trees in one transaction; each is looked at again there."""


@dataclass(frozen=True, slots=True)
class Purged:
    """What a purge came to: tasks that were slimmed, and tasks that were removed."""

    slimmed: int
    forgotten: int


class Purging:
    """Letting go of what is old."""

    _core: Core
    _ns: str

    def purge(
        self,
        older_than: float | timedelta,
        *,
        forget_after: float | timedelta | None = None,
        by: str = "purge",
    ) -> Purged:
        """Slim what ended longer ago than ``older_than`` (seconds or a timedelta), tree by tree.

        Arguments, results, attempts and audit go; request, key and outcome stay, so that a repeat is told that it was
        done and does not run. A tree is left alone while anything in it is open, parked for a person or in doubt.

        Args:
            forget_after: remove slim tasks altogether after so long; not those that hold a key without a window, or
                whose window is not over. Default never.

        Raises:
            ValueError: a time below zero, or ``forget_after`` before ``older_than``.
        """
        wiring = self._core.wiring(self._ns)
        return carry_out(purging(wiring, *_ages(older_than, forget_after), by), wiring)

    async def apurge(
        self,
        older_than: float | timedelta,
        *,
        forget_after: float | timedelta | None = None,
        by: str = "purge",
    ) -> Purged:
        """:meth:`purge` on an event loop."""
        ages = _ages(older_than, forget_after)
        wiring = await self._core.awiring(self._ns)
        return await acarry_out(purging(wiring, *ages, by), wiring)


def purging(
    wiring: Wiring, older_than: Micros, forget_after: Micros | None, by: str
) -> Generator[Step, Any, Purged]:
    """The choreography of a purge."""
    now = wiring.clock.now()
    slimmed = yield from _walk(
        wiring, now - older_than, False, lambda tx, run, before: purge.slim(tx, run, before, now, by)
    )
    forgotten = 0
    if forget_after is not None:
        forgotten = yield from _walk(
            wiring, now - forget_after, True, lambda tx, run, before: purge.forget(tx, run, before, now)
        )
    return Purged(slimmed, forgotten)


def _walk(
    wiring: Wiring, before: Micros, slim: bool, treat: Callable[[Tx, str, Micros], int]
) -> Generator[Step, Any, int]:
    after, count = "", 0
    while True:
        found = yield Look(partial(_aged, ns=wiring.ns, before=before, after=after, slim=slim))
        trees = list(dict.fromkeys(run_id for _, run_id in found))
        for at in range(0, len(trees), TREES):
            left = trees[at : at + TREES]
            while left:
                done, left = yield Write(partial(_each, left, before, treat), "control")
                count += done
        if len(found) < LOOKED_AT:
            return count
        after = found[-1][0]


def _aged(tx: Tx, ns: str, before: Micros, after: str, slim: bool) -> list[tuple[str, str]]:
    return retention.aged(tx, ns, before, after, LOOKED_AT, slim=slim)


def _each(
    trees: list[str], before: Micros, treat: Callable[[Tx, str, Micros], int], tx: Tx
) -> tuple[int, list[str]]:
    """Treat trees until the transaction has done enough: how many tasks, and which trees are left."""
    count = 0
    for at, run_id in enumerate(trees):
        done = treat(tx, run_id, before)
        count += done
        if done >= purge.AT_ONCE:
            return count, trees[at:]  # there may be more of this one
        if count >= purge.AT_ONCE:
            return count, trees[at + 1 :]
    return count, []


def _ages(
    older_than: float | timedelta, forget_after: float | timedelta | None
) -> tuple[Micros, Micros | None]:
    ages = [
        None if given is None else given.total_seconds() if isinstance(given, timedelta) else float(given)
        for given in (older_than, forget_after)
    ]
    older, forget = ages
    assert older is not None
    if not older >= 0:
        raise ValueError(f"older_than={older_than!r} must be a time, zero or more")
    if forget is not None and not forget >= older:
        raise ValueError(f"forget_after={forget_after!r} must not be before older_than={older_than!r}")
    return micros(older), None if forget is None else micros(forget)
