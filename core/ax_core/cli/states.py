"""``axd states``, and the same table for the help: every state with its way out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from ..states import FINAL, TRANSITIONS, WAY_OUT, State
from .out import answer, state, table

if TYPE_CHECKING:
    from rich.console import Console


def states(*, as_json: Annotated[bool, Parameter(name="--json", negative=())] = False) -> int:
    """List the states of a task, and the way out of each."""
    listed = [
        {
            "state": s.value,
            "way_out": WAY_OUT[s],
            "may_become": [t.value for t in _after(s)],
            "stays": s in FINAL,
        }
        for s in State
    ]
    answer(as_json, {"states": listed}, _show)
    return 0


def as_text() -> str:
    """The table as plain lines."""
    width = max(map(len, State))
    return "\n".join(f"{s:{width}}  {WAY_OUT[s]}" for s in State)


def _after(source: State) -> list[State]:
    order = list(State)
    return sorted(TRANSITIONS[source], key=order.index)


def _show(on: Console) -> None:
    made = table("state", "way out", "may become")
    for s in State:
        made.add_row(state(s), WAY_OUT[s], ", ".join(_after(s)) or "nothing")
    on.print(made)
