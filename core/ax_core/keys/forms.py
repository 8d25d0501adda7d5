"""The published table of canonical forms: what is equal to what, computed from the code it documents."""

from __future__ import annotations

import datetime as dt
import pathlib
import uuid
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from ax_core.keys.encoding import plain
from ax_core.keys.jcs import NotCanonical, canonical

_NOON = dt.datetime(2026, 3, 1, 12, 0)

FORMS: tuple[tuple[str, Callable[[], Any], str], ...] = (
    ("`1`", lambda: 1, ""),
    ("`1.0`, `1e0`", lambda: 1.0, "equal to 1"),
    ("`True`", lambda: True, "not 1"),
    ('`"1"`', lambda: "1", "not 1"),
    ("`0.0`, `-0.0`", lambda: -0.0, "equal to 0"),
    ("`0.3`", lambda: 0.3, ""),
    ("`0.1 + 0.2`", lambda: 0.1 + 0.2, "a different double, a different form"),
    ("`10**20`", lambda: 10**20, "integers are exact, up to 1000 digits"),
    ("`1e20`", lambda: 1e20, "below 1e21 a whole float equals the integer with the same text"),
    ("`10**21`", lambda: 10**21, ""),
    ("`1e21`", lambda: 1e21, "from 1e21 on a float equals no integer"),
    ("`9007199254740993`", lambda: 9007199254740993, "never through a float"),
    ("`NaN`, `Infinity`", lambda: float("nan"), ""),
    ("`10**1000`", lambda: 10**1000, ""),
    (
        '`"Hi  there"`',
        lambda: "Hi  there",
        "content is never altered: no whitespace, case or Unicode normalisation",
    ),
    ('`"\\u00e9"`', lambda: "é", "an escape in JSON text is the character it names"),
    ('`"\\x00"`', lambda: "\0", "stored as this escape on every database"),
    ('`"\\ud800"`', lambda: "\ud800", ""),
    (
        '`{"b": 1, "a": [2, 1]}`',
        lambda: {"b": 1, "a": [2, 1]},
        "keys in UTF-16 order; the order of arrays counts",
    ),
    ('`{1: "a", "1": "b"}`', lambda: {1: "a", "1": "b"}, "an entry is never lost to a key made text"),
    ("`(1, 2)`", lambda: (1, 2), "an array"),
    ("`{2, 1}`", lambda: {2, 1}, "a set: an array in canonical order"),
    ('`Decimal("1.10")`', lambda: Decimal("1.10"), 'equal to `Decimal("1.1")`; digits are never rounded'),
    ('`b"x"`', lambda: b"x", ""),
    ("`datetime(2026, 3, 1, 12, 0)`", lambda: _NOON, "no offset: a local time"),
    (
        "`datetime(2026, 3, 1, 12, 0, tzinfo=UTC)`",
        lambda: _NOON.replace(tzinfo=dt.UTC),
        "not equal to the above",
    ),
    ("`date(2026, 3, 1)`", lambda: _NOON.date(), ""),
    ("`timedelta(hours=1)`", lambda: dt.timedelta(hours=1), ""),
    ("`UUID(int=7)`", lambda: uuid.UUID(int=7), ""),
    ('`Path("a/b")`', lambda: pathlib.PurePosixPath("a/b"), ""),
    (
        "a generator, file, function, secret or other object",
        lambda: object(),
        "never `repr()`, never a shared form",
    ),
)
"""(how it is written, what makes it, remark)."""


def table_markdown() -> str:
    """The table as markdown, for ``docs/arguments.md``."""
    rows = ["| value | canonical form | |", "|---|---|---|"]
    for shown, make, remark in FORMS:
        try:
            form = f"`{canonical(plain(make())).decode()}`"
        except NotCanonical:
            form = "refused"
        rows.append(f"| {shown} | {form} | {remark} |")
    return "\n".join(rows)
