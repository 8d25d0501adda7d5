from __future__ import annotations

from collections.abc import Iterator

import pytest

from ax_core import AX
from support.fresh import fresh
from support.skew import Skew


@pytest.fixture
def clock() -> Skew:
    return Skew()


@pytest.fixture
def ax(clock: Skew) -> Iterator[AX]:
    with fresh(clock) as made:
        yield made
