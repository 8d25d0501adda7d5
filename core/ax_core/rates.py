"""Rates as people write them: ``20/second``, ``100 per 5 minutes``."""

from __future__ import annotations

import re
from typing import NamedTuple

_FORM = re.compile(r"\s*(\d+)\s*(?:/|\s+per\s+)\s*(\d+)?\s*([a-z]+)\s*", re.IGNORECASE)
_SECONDS = {"second": 1, "minute": 60, "hour": 3600, "day": 86_400}
_UNITS = {
    form: seconds
    for unit, seconds in _SECONDS.items()
    for form in (unit, unit + "s", unit[0], {"second": "sec", "minute": "min"}.get(unit, unit))
}


class Rate(NamedTuple):
    """At most ``amount`` in any window of so many ``seconds``."""

    amount: int
    seconds: int


def rate_of(text: str) -> Rate:
    """A rate from its text.

    Raises:
        ValueError: it is none, or would let nothing pass.
    """
    found = _FORM.fullmatch(text) if isinstance(text, str) else None
    unit = _UNITS.get(found[3].lower()) if found else None
    if found is None or unit is None:
        raise ValueError(f"rate={text!r} is no rate, like '20/second' or '100 per 5 minutes'")
    made = Rate(int(found[1]), int(found[2] or 1) * unit)
    if made.amount < 1 or made.seconds < 1:
        raise ValueError(f"rate={text!r} would let nothing pass")
    return made
