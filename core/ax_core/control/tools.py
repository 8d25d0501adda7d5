"""Pausing a tool: nothing of it starts until it is resumed."""

from __future__ import annotations

from ..errors import UnknownTool
from ..model import Verdict
from ..store import Tx, tools


def pause_tool(tx: Tx, ns: str, name: str, by: str) -> Verdict:
    """Let no attempt of a tool start; those that run go on."""
    return _set(tx, ns, name, by)


def resume_tool(tx: Tx, ns: str, name: str, by: str) -> Verdict:
    """Let a paused tool start again."""
    return _set(tx, ns, name, None, by)


def _set(tx: Tx, ns: str, name: str, pause_by: str | None, by: str | None = None) -> Verdict:
    if tools.get(tx, ns, name) is None:
        raise UnknownTool(f"no tool named {name!r} has been seen in this database")
    done = tools.pause(tx, ns, name, pause_by)
    word = "paused" if pause_by is not None else "resumed"
    tail = f" by {pause_by or by}" if done else " already"
    return Verdict(done, name, word.upper(), f"{name} is {word}{tail}")
