"""PostgreSQL's own marks for values ($1, $2 …), so that the driver need not read a text each time it is sent.

psycopg keeps what it made of a text only up to 50 values, and a task has more; and it looks it up by the text as bytes.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import psycopg

Marked = tuple[bytes, "tuple[str, ...] | None"]
"""A text, and the names of its values in the order of their numbers; None: they come in that order."""


class NumberedCursor(psycopg.RawCursor[Any]):
    """Takes SQL in the style of all the store's texts (``%s``, ``%(name)s``)."""

    def execute(self, query: Any, params: Any = None, **how: Any) -> NumberedCursor:
        if params is not None:
            query, names = numbered(query)
            if names is not None:
                params = [params[name] for name in names]
        super().execute(query, params, **how)
        return self

    def executemany(self, query: Any, params_seq: Any, **how: Any) -> None:
        query, names = numbered(query)
        assert names is None, "values that go together come in their order"
        super().executemany(query, params_seq, **how)


@cache
def numbered(sql: str) -> Marked:
    """The text with numbers for marks; translated once, there are only so many."""
    names: dict[str, int] = {}
    count = 0

    def mark(found: re.Match[str]) -> str:
        nonlocal count
        if found.group(0) == "%%":
            return "%"
        if (name := found.group(1)) is not None:
            return f"${names.setdefault(name, len(names) + 1)}"
        count += 1
        return f"${count}"

    text = _MARKS.sub(mark, sql).encode()
    return text, tuple(names) if names or not count else None


_MARKS = re.compile(r"%%|%s|%\((\w+)\)s")
