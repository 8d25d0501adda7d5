"""``axd tasks``: the record, task by task."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from ..clock import SystemClock
from ..model import Page
from ..states import State
from ..view import certain
from . import data
from .clean import shown
from .options import HERE, Where
from .out import answer, state, table, text
from .paging import cursor, say_more, states_named
from .place import opened
from .steps import short

if TYPE_CHECKING:
    from rich.console import Console

_AGO = re.compile(r"(\d+)([smhd])")


def tasks(
    *,
    state: Annotated[list[str] | None, Parameter(negative=())] = None,
    reason: str | None = None,
    tool: str | None = None,
    session: str | None = None,
    since: str | None = None,
    limit: int = 50,
    after: str | None = None,
    where: Where = HERE,
) -> int:
    """List tasks, newest first.

    Args:
        state: only these (may be given more than once).
        reason: only with this reason, e.g. outcome_unknown.
        tool: only of this tool.
        session: only of this session.
        since: only created since then: 2026-01-31, 2026-01-31T12:00+01:00, or 30m, 2h, 7d ago.
        limit: at most so many, 1 to 1000.
        after: go on after this id (the cursor of the page before).
    """
    wanted = states_named(State, state)
    with opened(where) as ax:
        page = ax.tasks(
            state=wanted,
            reason=reason,
            tool=tool,
            session=session,
            since=None if since is None else moment(since),
            limit=limit,
            after=cursor(ax, after, "task"),
        )
    listed = {"tasks": [data.task(each) for each in page.tasks], "after": page.after}
    answer(where.as_json, listed, lambda on: _list(on, page, where))
    return 0


def moment(since: str) -> datetime:
    """The time that a person wrote; without a time zone it is UTC.

    Raises:
        ValueError: it is none.
    """
    now = certain(SystemClock().now())
    if (found := _AGO.fullmatch(since)) is not None:
        unit = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}[found[2]]
        return now - timedelta(**{unit: int(found[1])})
    try:
        at = datetime.fromisoformat(since)
    except ValueError:
        raise ValueError(
            f"--since {since!r} is neither a time (2026-01-31T12:00) nor an age (30m, 2h, 7d)"
        ) from None
    return at if at.tzinfo else at.replace(tzinfo=now.tzinfo)


def _list(on: Console, page: Page, where: Where) -> None:
    if not page.tasks:
        on.print("no such tasks")
        return
    made = table("task", "created (UTC)", "tool", "state", "tries", "arguments", "session")
    for task in page.tasks:
        made.add_row(
            text(short(task.id), "bold"),
            f"{task.created_at:%m-%d %H:%M:%S}",
            text(task.tool),
            state(task.state, task.reason, task.maybe_applied),
            str(task.attempts),
            text(shown(task.payload, 60)),
            text(task.session or ""),
        )
    on.print(made)
    say_more(on, page.after)
