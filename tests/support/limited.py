"""Tools with limits that hold across workers; each notes in the world's books when it came in and went out."""

from __future__ import annotations

import os
import time
from typing import Any

from ax_core import AX, Effect, Policy
from support.outside import Outside, Row

TWO, TEN = 2, 10


def register(ax: AX, outside: Outside) -> None:
    """``two_at_once`` has places for two, ``ten_a_second`` a rate, ``both`` both; ``slow`` has a queue of its own."""

    def noting(subject: str, dwell: float = 0.0, gate: str = "") -> str:
        outside.ask("note", kind="in", subject=subject, pid=os.getpid())
        if gate:
            outside.ask("gate", gate=gate, subject=subject, pid=os.getpid())
        if dwell:
            time.sleep(dwell)
        outside.ask("note", kind="out", subject=subject, pid=os.getpid())
        return subject

    def made(name: str, where: str = "worker", **limits: Any) -> None:
        ax.register(noting, name=name, policy=Policy(Effect.IDEMPOTENT, where=where, **limits))

    made("unlimited")
    made("two_at_once", concurrency=TWO)
    made("ten_a_second", rate=f"{TEN}/second")
    made("both", rate="100/second", concurrency=1)
    made("slow", "worker:slow")


def most_at_once(entries: list[Row]) -> int:
    """How many were in at the same time, as the world saw it."""
    now = most = 0
    for entry in entries:
        now += {"in": 1, "out": -1}.get(entry["kind"], 0)
        most = max(most, now)
    return most
