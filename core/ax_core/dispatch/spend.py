"""Spending from a run's budget what no call reserves: cost units and decision rounds."""

from __future__ import annotations

from ..errors import AXError
from ..limits import reserve
from ..store import Op, Tx, runs
from ..store.runs import Draw
from .wiring import Wiring


def spend(wiring: Wiring, run_id: str, draw: Draw) -> Op[AXError | None]:
    """Take ``draw`` from the run and those it stands in; what it gives back is to be raised after the commit."""

    def op(tx: Tx) -> AXError | None:
        return reserve(tx, runs.line(tx, run_id), wiring.clock.now(), draw)

    return op


def a_round(wiring: Wiring, run_id: str) -> Op[tuple[AXError | None, float | None]]:
    """Take one decision round; with the refusal come the seconds that are left of the wall time."""

    def op(tx: Tx) -> tuple[AXError | None, float | None]:
        line, now = runs.line(tx, run_id), wiring.clock.now()
        ends = [row.deadline_at for row in line if row.deadline_at is not None and row.paused_at is None]
        return reserve(tx, line, now, Draw(rounds=1)), (min(ends) - now) / 1e6 if ends else None

    return op
