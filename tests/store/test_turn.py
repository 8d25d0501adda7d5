"""Waiting for the write lock of a file."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from ax_core.store import turn
from support.ledger import Ledger


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger(tmp_path / "ledger.db")


def test_a_lock_that_another_process_has_for_a_moment_is_asked_for_again_within_two_milliseconds(
    ledger: Ledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SQLite's own pauses would grow to a hundred."""
    ledger.put(1)
    other = sqlite3.connect(tmp_path / "ledger.db", isolation_level=None, check_same_thread=False)
    other.execute("BEGIN IMMEDIATE")
    pauses: list[float] = []

    def pause(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) == 20:
            other.execute("ROLLBACK")

    monkeypatch.setattr(turn.time, "sleep", pause)
    ledger.put(2)
    assert len(pauses) == 20
    assert 0 < min(pauses) <= max(pauses) <= 0.002
    assert ledger.entries() == [1, 2]
    other.close()
