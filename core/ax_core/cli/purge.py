"""``axd purge``: let go of what is old."""

from __future__ import annotations

import re
from datetime import timedelta

from .options import HERE, ME, Where, Who
from .out import answer
from .place import opened

_FORM = re.compile(r"(\d+)\s*([smhdwy])")
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 7 * 86_400, "y": 365 * 86_400}


def purge(*, older_than: str, forget_after: str | None = None, who: Who = ME, where: Where = HERE) -> int:
    """Slim what ended long ago: arguments, results, attempts and audit go; request, key and outcome stay.

    A repeat of what was slimmed is told that it was done, and does not run. A run is left alone while anything in it is
    open, parked for a person or in doubt. Small transactions: it may run beside everything else, and be stopped.

    Args:
        older_than: as 90d, 12h, 2y.
        forget_after: remove slim tasks altogether after so long; not those whose key has no window, or is within it.
    """
    ages = [None if text is None else age(text) for text in (older_than, forget_after)]
    assert ages[0] is not None
    with opened(where) as ax:
        done = ax.purge(ages[0], forget_after=ages[1], by=who.name)
    said = {"slimmed": done.slimmed, "forgotten": done.forgotten}
    answer(
        where.as_json, said, lambda on: on.print(f"{done.slimmed} tasks slimmed, {done.forgotten} forgotten")
    )
    return 0


def age(text: str) -> timedelta:
    """How long ago, from its text.

    Raises:
        ValueError: it is none.
    """
    found = _FORM.fullmatch(text.strip())
    if found is None:
        raise ValueError(f"{text!r} is no age, like 90d: a whole number and s, m, h, d, w or y")
    return timedelta(seconds=int(found[1]) * _SECONDS[found[2]])
