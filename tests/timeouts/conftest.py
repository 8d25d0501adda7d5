"""A record in a file, whose alerts can be waited for."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from ax_core import AX
from support.alerts import Alerts


@pytest.fixture
def ax(tmp_path: Path) -> Iterator[AX]:
    with AX(f"sqlite:///{tmp_path}/ax.db") as made:
        yield made


@pytest.fixture
def alerts(ax: AX) -> Alerts:
    return Alerts(ax)
