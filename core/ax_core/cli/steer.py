"""The verbs about runs and tools: extend, rollback, pause, resume."""

from __future__ import annotations

from .decide import carried_out
from .options import HERE, ME, Where, Who


def extend(run: str, /, *, tasks: int = 0, seconds: float = 0.0, who: Who = ME, where: Where = HERE) -> int:
    """Give a run more tasks or seconds; one that its budget ended goes on.

    Args:
        run: its id, or six or more of its first or last characters.
        tasks: so many more.
        seconds: so much longer.
    """
    return carried_out(
        where, run, lambda ax, id: ax.extend(id, tasks=tasks, seconds=seconds, by=who.name), of="run"
    )


def rollback(run: str, /, *, who: Who = ME, where: Where = HERE) -> int:
    """Undo what a run did: closes it here; the compensations run in workers, or in ax.serve(), where their tools are.

    Args:
        run: its id, or six or more of its first or last characters.
    """
    return carried_out(where, run, lambda ax, id: ax.rollback(id, by=who.name), of="run")


def pause(tool: str, /, *, who: Who = ME, where: Where = HERE) -> int:
    """Let no attempt of a tool start until it is resumed; those that run go on.

    Args:
        tool: its name.
    """
    return carried_out(where, tool, lambda ax, name: ax.pause(name, by=who.name), of="tool")


def resume(tool: str, /, *, who: Who = ME, where: Where = HERE) -> int:
    """Let a paused tool start again.

    Args:
        tool: its name.
    """
    return carried_out(where, tool, lambda ax, name: ax.resume(name, by=who.name), of="tool")
