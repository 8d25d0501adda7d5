"""A tool whose work can be undone, in workers; both note in the world's books what they did."""

from __future__ import annotations

import os
from typing import Any

from ax_core import AX, Effect, Policy, current
from support.outside import Outside


def register(ax: AX, outside: Outside) -> None:
    """``book`` books a subject; its compensation waits at the gate that the booking was made with, if any."""
    where = None if ax._core.queue is None else "worker"

    def undo(args: dict[str, Any], result: Any) -> str:
        outside.ask("note", kind="undoing", subject=args["subject"], pid=os.getpid())
        if args.get("gate"):
            outside.ask("gate", gate=args["gate"], subject=args["subject"], pid=os.getpid())
        outside.ask("note", kind="undone", subject=args["subject"], result=result, task=current().task_id)
        return str(result)

    def book(subject: str, gate: str = "") -> str:
        outside.ask("note", kind="booked", subject=subject)
        return f"booking of {subject}"

    ax.register(book, policy=Policy(Effect.KEYED, where=where, compensate=undo))
