"""Showing an answer: one JSON document for programs, tables and text for people."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any

from .clean import clean

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

WIDE = 160
"""Columns where nobody looks at a terminal."""

_STYLES = {
    "SUCCESS": "green",
    "FAILED": "red",
    "TIMEOUT": "red",
    "DEAD": "red",
    "QUARANTINE": "bold yellow",
    "CONFIRMING": "bold cyan",
    "RUNNING": "blue",
    "CANCELLED": "dim",
    "SKIPPED": "dim",
}


def answer(as_json: bool, data: Mapping[str, Any], show: Callable[[Console], None]) -> None:
    """Print ``data``, or let ``show`` print what people read."""
    if as_json:
        print(json.dumps(data, indent=2))
    else:
        show(console())


def console() -> Console:
    """The terminal, without any markup: what is printed is what is meant."""
    from rich.console import Console

    wide = None if sys.stdout.isatty() else WIDE
    return Console(markup=False, highlight=False, emoji=False, width=wide)


def text(value: object, style: str = "") -> Text:
    """A value of the record, harmless, in a style."""
    from rich.text import Text

    return Text(clean(value), style)


def state(name: object, reason: object = None, maybe_applied: bool = False) -> Text:
    """A state with what qualifies it."""
    made = text(name, _STYLES.get(str(name), ""))
    if reason:
        made.append_text(text(f" {reason}", "dim"))
    if maybe_applied:
        made.append(" maybe applied", "yellow")
    return made


def table(*heads: str) -> Table:
    """An empty table."""
    from rich import box
    from rich.table import Table

    made = Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style="bold")
    for head in heads:
        made.add_column(head, overflow="fold")
    return made


def pairs(rows: Iterable[tuple[str, object]]) -> Table:
    """Names and values, one a line; a value of None is left out."""
    from rich.table import Table
    from rich.text import Text

    made = Table.grid(padding=(0, 2))
    made.add_column(style="dim")
    made.add_column(overflow="fold")
    for name, value in rows:
        if value is not None:
            made.add_row(name, value if isinstance(value, Text) else text(value))
    return made


def iso(at: datetime | None) -> str | None:
    """A time for programs."""
    return None if at is None else at.isoformat(timespec="microseconds")


def clock(at: datetime | None) -> str | None:
    """A time for people."""
    return None if at is None else f"{at:%Y-%m-%d %H:%M:%S} UTC"


def ago(at: datetime, now: datetime) -> str:
    """How long ago, for people."""
    seconds = (now - at).total_seconds()
    for size, unit in ((86_400, "d"), (3600, "h"), (60, "min")):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit} ago"
    return f"{max(0.0, seconds):.0f} s ago"
