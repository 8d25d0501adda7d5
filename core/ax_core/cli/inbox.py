"""``axd inbox``: what waits for a person, the unknown effects first, each with what to type next."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from ..clock import SystemClock
from ..model import Task
from ..view import certain
from . import data
from .clean import shown
from .options import HERE, Where
from .out import ago, answer, clock, state, text
from .place import opened
from .steps import next_steps, short

if TYPE_CHECKING:
    from rich.console import Console

GROUPS = (
    ("unknown", "Unknown effects: it may or may not have happened. Look there, then say so."),
    ("approval", "Waiting for approval"),
    ("changed", "The tool changed before it ran"),
    ("dead", "Given up"),
    ("arguments", "Arguments that do not fit: the model was told, nothing was run"),
)


def group_of(task: Task) -> str:
    """What a task waits for."""
    if task.reason == "outcome_unknown" or task.maybe_applied:
        return "unknown"
    if task.state == "CONFIRMING":
        return "approval"
    if task.state == "DEAD":
        return "dead"
    return "arguments" if task.reason == "invalid_args" else "changed"


def inbox(*, limit: int = 50, where: Where = HERE) -> int:
    """Show what waits for a person, unknown effects first, each with the next command to type.

    Args:
        limit: at most so many.
    """
    with opened(where) as ax:
        found = ax.inbox(limit=limit)
    waiting = [data.task(t) | {"waits_for": group_of(t), "next": next_steps(t, where.again)} for t in found]
    answer(where.as_json, {"tasks": waiting}, lambda on: _show(on, found, where))
    return 0


def _show(on: Console, found: list[Task], where: Where) -> None:
    if not found:
        on.print("nothing waits for a person")
        return
    now = certain(SystemClock().now())
    for name, title in GROUPS:
        mine = [task for task in found if group_of(task) == name]
        if not mine:
            continue
        on.print(text(f"{title} ({len(mine)})", "bold"))
        for task in mine:
            _show_one(on, task, now, where)
        on.print()


def _show_one(on: Console, task: Task, now: datetime, where: Where) -> None:
    line = text(f"  {short(task.id)}  ", "bold")
    line.append_text(text(task.tool, "bold cyan"))
    line.append("  ")
    line.append_text(state(task.state, task.reason, task.maybe_applied))
    line.append_text(text(f"  {ago(task.started_at or task.created_at, now)}", "dim"))
    if task.session:
        line.append_text(text(f"  session {task.session}", "dim"))
    on.print(line)
    on.print(text(f"    {shown(task.payload, 300)}"))
    for why in _why(task):
        on.print(text(f"    {why}", "dim"))
    for step in next_steps(task, where.again):
        on.print(text(f"    → {step}", "green"), soft_wrap=True)


def _why(task: Task) -> list[str]:
    if task.state == "CONFIRMING" and task.approval is not None:
        return [f"may be approved until {clock(task.approval['expires_at'])}"]
    if any(not attempt.closed for attempt in task.history):
        return ["its attempt has not been seen to end: it may still act"]
    return str((task.error or {}).get("message") or "")[:400].splitlines()[:4]
