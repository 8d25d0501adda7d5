"""Fixtures of the semantics: a clock that can be pushed ahead, and a fresh AX that nobody watches.

What could go otherwise where the database does something else is tried on every database.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ax_core import AX
from support.fresh import fresh
from support.servers.databases import EVERY, FILE
from support.skew import Skew

ON_EVERY_DATABASE = frozenset(
    {
        "test_budgets",
        "test_cancel",
        "test_confirmation",
        "test_in_the_way",
        "test_late_evidence",
        "test_one_effect",
        "test_purge",
        "test_resubmission",
        "test_retries",
        "test_runs",
        "test_same_arguments",
        "test_sessions",
        "test_single_flight",
    }
)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "shared_url" in metafunc.fixturenames:
        module = metafunc.module.__name__.rpartition(".")[2]
        slow = metafunc.definition.get_closest_marker("slow") is not None
        kinds = EVERY if module in ON_EVERY_DATABASE and not slow else (FILE,)
        metafunc.parametrize("shared_url", kinds, indirect=True)


@pytest.fixture
def clock() -> Skew:
    return Skew()


@pytest.fixture
def ax(clock: Skew, shared_url: str | None) -> Iterator[AX]:
    with fresh(clock, url=shared_url) as made:
        yield made
