"""Outcomes in doubt that the tool itself may be able to settle."""

from __future__ import annotations

from ..clock import Micros
from ..model import TaskRow
from ..store import Op, Tx, queries


def to_reconcile(ns: str, settle: dict[str, Micros], now: Micros) -> Op[list[TaskRow]]:
    """Closed attempts in doubt of these tools (name → settling time) whose settling time has passed."""

    def op(tx: Tx) -> list[TaskRow]:
        rows = queries.newest(tx, ns, states=("QUARANTINE",), reason="outcome_unknown", limit=500)
        return [
            row
            for row in rows
            if row.tool in settle and not row.attempt_open and (row.ended_at or 0) + settle[row.tool] <= now
        ]

    return op
