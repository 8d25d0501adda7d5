"""Tools with limits that hold across workers; each notes in the world's books when it came in and went out."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from typing import Any

from ax_core import AX, Effect, Policy, current
from support.outside import Outside, Row

TWO, TEN, EIGHT = 2, 10, 8


class Busy(Exception):
    """The downstream sends its caller away for a while."""

    def __init__(self, retry_after: float) -> None:
        super().__init__(f"come back in {retry_after} s")
        self.retry_after = retry_after


def register(ax: AX, outside: Outside) -> None:
    """``two_at_once`` has places for two, ``ten_a_second`` a rate, ``both`` both; ``slow`` has a queue of its own.

    ``sent_away`` has places for eight, and its first attempt is told to come back later.
    """

    def noting(subject: str, dwell: float = 0.0, gate: str = "") -> str:
        outside.ask("note", kind="in", subject=subject, pid=os.getpid())
        if gate:
            outside.ask("gate", gate=gate, subject=subject, pid=os.getpid())
        if dwell:
            time.sleep(dwell)
        outside.ask("note", kind="out", subject=subject, pid=os.getpid())
        return subject

    def sent_away(subject: str, retry_after: float) -> str:
        noting(subject, dwell=0.01)
        if current().attempt == 1:
            raise Busy(retry_after)
        return subject

    def made(name: str, where: str = "worker", **limits: Any) -> None:
        ax.register(noting, name=name, policy=Policy(Effect.IDEMPOTENT, where=where, **limits))

    made("unlimited")
    made("two_at_once", concurrency=TWO)
    made("ten_a_second", rate=f"{TEN}/second")
    patient = Policy(Effect.IDEMPOTENT, where="worker", concurrency=EIGHT, retries=1)
    ax.register(sent_away, policy=patient)
    made("both", rate="100/second", concurrency=1)
    made("slow", "worker:slow")


def most_at_once(entries: list[Row]) -> int:
    """How many were in at the same time, as the world saw it."""
    now = most = 0
    for entry in entries:
        now += {"in": 1, "out": -1}.get(entry["kind"], 0)
        most = max(most, now)
    return most


def waits(entries: list[Row]) -> dict[str, float]:
    """Seconds between the end of the first attempt and the beginning of the second, by subject, as the world saw it."""
    times: dict[str, dict[str, list[float]]] = {}
    for entry in entries:
        if entry["kind"] in ("in", "out"):
            times.setdefault(entry["subject"], {"in": [], "out": []})[entry["kind"]].append(entry["at"])
    assert all(len(at["in"]) == 2 for at in times.values())
    return {subject: at["in"][1] - at["out"][0] for subject, at in times.items()}


def most_within(span: float, moments: Iterable[float]) -> int:
    """How many of these moments lie in the fullest span of such a length."""
    ordered, first, most = sorted(moments), 0, 0
    for last, at in enumerate(ordered):
        while at - ordered[first] > span:
            first += 1
        most = max(most, last - first + 1)
    return most
