"""Fixtures for tests of the store."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.ledger import Ledger


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger(tmp_path / "ledger.db")
