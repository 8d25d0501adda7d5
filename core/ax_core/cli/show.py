"""``axd show``: all that is known of one task."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..model import Task
from ..states import WAY_OUT
from . import data
from .clean import shown
from .options import HERE, Where
from .out import answer, clock, pairs, state, text
from .place import opened
from .steps import next_steps

if TYPE_CHECKING:
    from rich.console import Console


def show(task: str, /, *, where: Where = HERE) -> int:
    """Show all that is known of a task, and what may be done with it.

    Args:
        task: its id, or six or more of its first or last characters.
    """
    with opened(where) as ax:
        found = ax.get(ax.find(task))
    steps = next_steps(found, where.again)
    detail = data.task(found) | {"way_out": WAY_OUT[found.state], "next": steps}
    answer(where.as_json, detail, lambda on: _show(on, found, steps))
    return 0


def _show(on: Console, task: Task, steps: list[str]) -> None:
    on.print(pairs(_facts(task)))
    for attempt in task.history:
        end = "" if attempt.closed else ", not seen to end: it may still act"
        on.print(text(f"attempt {attempt.number}: {attempt.outcome}{end}", "bold"))
        late = None if attempt.late_at is None else f"{attempt.late_outcome} at {clock(attempt.late_at)}"
        on.print(
            pairs(
                [
                    ("  started", clock(attempt.started_at)),
                    ("  acted", clock(attempt.acted_at)),
                    ("  ended", clock(attempt.ended_at)),
                    ("  error", in_short(attempt.error)),
                    ("  where", where_raised(attempt.error)),
                    ("  late", late),
                    (
                        "    late result",
                        None if attempt.late_result is None else shown(attempt.late_result, 2000),
                    ),
                    ("  by", attempt.owner),
                ]
            )
        )
    on.print(text(f"way out of {task.state}: {WAY_OUT[task.state]}", "dim"))
    for step in steps:
        on.print(text(f"→ {step}", "green"), soft_wrap=True)


def _facts(task: Task) -> list[tuple[str, object]]:
    asked = task.approval
    decided = (
        None
        if asked is None or asked["decision"] is None
        else f"{asked['decision']} by {asked['by'] or 'nobody'}"
    )
    said = f", who says: {asked['reason']}" if asked is not None and asked["reason"] else ""
    return [
        ("task", task.id),
        ("tool", f"{task.tool} ({task.effect}, version {task.tool_version})"),
        ("state", state(task.state, task.reason, task.maybe_applied)),
        ("run", task.run_id),
        ("session", task.session),
        ("under", task.parent_id),
        ("arguments", shown(task.payload, 4000)),
        ("result", None if task.state != "SUCCESS" and task.result is None else shown(task.result, 4000)),
        ("error", in_short(task.error)),
        ("notes", "; ".join(task.notes) or None),
        ("request", task.request_id),
        ("key", task.idempotency_key),
        ("attempts", f"{task.attempts} of {task.max_attempts}, interrupted {task.interruptions} times"),
        ("replays", task.replays or None),
        ("cancel", "requested" if task.cancel_requested else None),
        ("created", clock(task.created_at)),
        ("due", clock(task.due_at)),
        ("ended", clock(task.ended_at)),
        ("approval", None if asked is None else decided or f"open until {clock(asked['expires_at'])}"),
        ("decided", None if decided is None or asked is None else f"{clock(asked['decided_at'])}{said}"),
        ("framework", shown(task.address, 1000) if task.address else None),
    ]


def in_short(error: dict[str, Any] | None) -> str | None:
    """What a stored error says, in short."""
    return None if error is None else f"{error.get('type', 'error')}: {error.get('message', '')}"[:2000]


def where_raised(error: dict[str, Any] | None) -> str | None:
    """The innermost line of a stored error's traceback."""
    lines = str((error or {}).get("traceback") or "").splitlines()
    return lines[-1] if lines else None
