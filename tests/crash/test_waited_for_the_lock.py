"""A claim that had to wait for another process's transaction begins when it is written, not when it was asked for."""

from __future__ import annotations

import sqlite3
import threading
import time
from pathlib import Path

from ax_core import AX, ToolFailed


def test_a_claim_that_waited_begins_when_it_is_written(tmp_path: Path) -> None:
    """Its lease and its time are whole, and it does not seem to begin before the attempt it follows had ended."""
    tries: list[int] = []

    def act() -> float:
        from ax_core import current

        tries.append(1)
        if len(tries) == 1:
            raise RuntimeError("not yet")
        return current().remaining() or 0.0

    with AX(f"sqlite:///{tmp_path}/ax.db") as ax:
        ax.register(act, policy={"effect": "idempotent", "timeout": 10})

        def locked(request: str) -> float | None:
            other = sqlite3.connect(tmp_path / "ax.db", isolation_level=None, check_same_thread=False)
            other.execute("BEGIN IMMEDIATE")
            release = threading.Timer(1.0, lambda: other.execute("ROLLBACK"))
            release.start()
            try:
                return ax.call("act", request_id=request)
            except ToolFailed:
                return None
            finally:
                release.join()
                other.close()

        for request in ("r", "r"):
            began = time.time()
            left = locked(request)
            task = ax.find_request(request)
            assert task is not None
            assert task.history[-1].started_at is not None
            assert task.history[-1].started_at.timestamp() - began > 0.9
        assert left is not None
        assert left > 9.5
        first, second = task.history
        assert first.ended_at is not None
        assert second.started_at is not None
        assert first.ended_at <= second.started_at
