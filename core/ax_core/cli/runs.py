"""``axd runs``: what was begun on purpose, and how it stands."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from ..model import RunPage
from ..states import RunState
from . import data
from .options import HERE, Where
from .out import answer, state, table, text
from .paging import cursor, say_more, states_named
from .place import opened
from .steps import short

if TYPE_CHECKING:
    from rich.console import Console


def runs(
    *,
    state: Annotated[list[str] | None, Parameter(negative=())] = None,
    session: str | None = None,
    limit: int = 50,
    after: str | None = None,
    where: Where = HERE,
) -> int:
    """List the runs that were opened on purpose, newest first.

    Args:
        state: only these (may be given more than once).
        session: only of this session.
        limit: at most so many, 1 to 1000.
        after: go on after this id (the cursor of the page before).
    """
    wanted = states_named(RunState, state, " of a run")
    with opened(where) as ax:
        page = ax.runs(state=wanted, session=session, limit=limit, after=cursor(ax, after, "run"))
    listed = {"runs": [data.run(each) for each in page.runs], "after": page.after}
    answer(where.as_json, listed, lambda on: _list(on, page))
    return 0


def _list(on: Console, page: RunPage) -> None:
    if not page.runs:
        on.print("no such runs")
        return
    made = table("run", "created (UTC)", "state", "intent", "session", "used", "in run")
    for run in page.runs:
        made.add_row(
            text(short(run.id), "bold"),
            f"{run.created_at:%m-%d %H:%M:%S}",
            state(run.state, run.reason),
            text(run.intent or ""),
            text(run.session or ""),
            run.used,
            text(short(run.parent_run_id) if run.parent_run_id else ""),
        )
    on.print(made)
    say_more(on, page.after)
