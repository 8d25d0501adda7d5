"""``axd tree`` and ``axd audit``: how things came to stand where they stand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..model import AuditEntry, Task, Tree
from . import data
from .clean import shown
from .options import HERE, Where
from .out import answer, clock, state, table, text
from .place import opened
from .steps import short

if TYPE_CHECKING:
    from rich.console import Console
    from rich.tree import Tree as Branch


def tree(run: str, /, *, where: Where = HERE) -> int:
    """Show a run with every task and run under it.

    Args:
        run: its id, or six or more of its first or last characters.
    """
    with opened(where) as ax:
        found = ax.tree(ax.find(run, of="run"))
    answer(where.as_json, data.tree(found), lambda on: on.print(_grown(found)))
    return 0


def _grown(tree: Tree, into: Branch | None = None) -> Branch:
    from rich.tree import Tree as Branch

    run = tree.run
    label = text(f"run {run.id}  ", "bold")
    label.append_text(state(run.state, run.reason))
    for what in (run.intent, f"session {run.session}" if run.session else None, _budget(tree)):
        if what:
            label.append_text(text(f"  {what}", "dim"))
    root = Branch(label) if into is None else into.add(label)
    places: dict[str | None, Branch] = {None: root}
    for task in tree.tasks:
        places[task.id] = places.get(task.parent_id, root).add(_leaf(task))
    for child in tree.runs:
        _grown(child, root)
    return root


def _budget(tree: Tree) -> str | None:
    return None if tree.run.implicit else tree.run.used


def _leaf(task: Task) -> Any:
    made = text(f"{short(task.id)}  ")
    made.append_text(text(task.tool, "bold"))
    made.append("  ")
    made.append_text(state(task.state, task.reason, task.maybe_applied))
    made.append_text(text(f"  {shown(task.payload, 80)}", "dim"))
    return made


def audit(task: str, /, *, where: Where = HERE) -> int:
    """Show every change of a task, by whom, and check that none was altered or taken out since (exit code 1).

    Args:
        task: its id, or six or more of its first or last characters.
    """
    with opened(where) as ax:
        id = ax.find(task)
        trail, broken = ax.audit(id), ax.verify(id)
    said = {
        "ax_task_id": id,
        "entries": [data.entry(e) for e in trail],
        "whole": broken is None,
        "broken_at": broken,
    }
    answer(where.as_json, said, lambda on: _list(on, trail, broken))
    return 0 if broken is None else 1


def _list(on: Console, trail: list[AuditEntry], broken: int | None) -> None:
    made = table("#", "at", "what", "state", "by", "detail")
    for entry in trail:
        moved = state(entry.target) if entry.source != entry.target else text("")
        detail = shown(entry.detail, 200) if entry.detail else ""
        made.add_row(
            str(entry.seq), clock(entry.at), text(entry.verb, "bold"), moved, text(entry.by), text(detail)
        )
    on.print(made)
    if broken is None:
        on.print(text(f"the trail is whole: {len(trail)} entries, each chained to the one before", "green"))
    elif broken > len(trail):
        on.print(
            text("the trail does not end where its task says: entries were taken out, or altered", "bold red")
        )
    else:
        on.print(
            text(
                f"the trail is broken at entry {broken}: it was altered, or one before it taken out",
                "bold red",
            )
        )
