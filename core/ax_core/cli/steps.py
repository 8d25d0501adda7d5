"""What to type next: for each task that waits for a person, the commands that move it."""

from __future__ import annotations

import shlex

from ..model import Task
from ..states import State

SHORT = 12


def short(id: str) -> str:
    """The last characters of an id, which tell one apart where the first ones tell the time."""
    return id if len(id) <= SHORT else id[-SHORT:]


def command(verb: str, name: str, again: str = "", tail: str = "") -> str:
    """A command to type."""
    return f"axd {verb} {shlex.quote(short(name) if verb not in ('pause', 'resume') else name)}{tail}{again}"


def next_steps(task: Task, again: str = "") -> list[str]:
    """The commands that may move a task, the likeliest first; ``again`` are options to find the record."""

    def do(verb: str, tail: str = "") -> str:
        return command(verb, task.id, again, tail)

    if task.reason == "outcome_unknown" or task.maybe_applied:
        steps = [do("resolve", " --happened --result JSON"), do("resolve", " --did-not-happen")]
        # An attempt that may still act is not run a second time beside itself.
        if any(not attempt.closed for attempt in task.history):
            return steps
        return [*steps, do("resolve", " --did-not-happen --rerun")]
    match task.state:
        case State.CONFIRMING:
            return [do("confirm"), do("reject", " --reason TEXT")]
        case State.QUARANTINE if task.reason == "invalid_args":
            return [do("cancel")]
        case State.QUARANTINE:
            return [do("requeue"), do("cancel")]
        case State.DEAD:
            return [do("requeue"), do("resolve", " --happened --result JSON"), do("cancel")]
        case State.FAILED | State.TIMEOUT | State.SKIPPED:
            return [do("requeue")]
        case State.CANCELLED:
            return [] if task.reason == "rejected" else [do("requeue")]
        case State.QUEUED | State.WAITING | State.RETRY_WAIT:
            return [do("cancel")]
        case State.RUNNING:
            return [] if task.cancel_requested else [do("cancel")]
        case _:
            return []
