"""``axd doctor``: is the record in good health, and what is to be done."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from ..clock import SystemClock
from ..errors import AXError
from . import checks, record, server
from .checks import FAIL, Check
from .options import HERE, Where
from .out import answer, text
from .place import ADVICE, located

if TYPE_CHECKING:
    from rich.console import Console

_STYLES = {"ok": "green", "warn": "bold yellow", "fail": "bold red"}


def doctor(*, deep: Annotated[bool, Parameter(negative=())] = False, where: Where = HERE) -> int:
    """Look the record over without changing it: one line a finding, with what to do. Exit code 1 where one fails.

    Args:
        deep: check every page and every audit trail too, which reads the whole file.
    """
    found = list(_findings(where, deep))
    sound = all(check.status != FAIL for check in found)
    said = {"sound": sound, "checks": [check._asdict() for check in found]}
    answer(where.as_json, said, lambda on: _show(on, found))
    return 0 if sound else 1


def _findings(where: Where, deep: bool) -> Iterator[Check]:
    from ..store import inspect
    from ..store.opening import default_url, in_a_file

    yield from checks.surroundings()
    try:
        if not in_a_file(url := where.url or default_url()):
            yield from server.findings(url, deep)
            return
        place = located(where)
        if not place.exists:
            yield Check(FAIL, "file", f"there is no database at {place.path} ({place.source})", ADVICE)
            return
        yield from checks.disk(place)
        with inspect.looking(place.path) as tx:
            yield from record.tables(tx)
            if inspect.schema(tx) is None:
                return
            now = SystemClock().now()
            yield from record.clock(tx, now)
            yield from record.attempts(tx, now)
            yield from record.people(tx)
            yield from record.declared(tx)
            if deep:
                yield from record.pages(tx)
                yield from record.trails(tx)
    except AXError as error:
        yield Check(FAIL, "database", str(error))


def _show(on: Console, found: list[Check]) -> None:
    width = max(len(check.name) for check in found)
    for check in found:
        line = text(f"{check.status:5}", _STYLES[check.status])
        line.append_text(text(f"{check.name:{width}}  "))
        line.append_text(text(check.message))
        if check.advice:
            line.append_text(text(f" → {check.advice}", "dim"))
        on.print(line, soft_wrap=True)
