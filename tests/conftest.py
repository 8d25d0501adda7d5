"""What all tests may ask for: servers, a nursery and an outside world, started once a session when first needed."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from support import known_gates
from support.children import Nursery
from support.fresh import ax, clock
from support.one_database import one_each
from support.processes import nursery, stage, world
from support.servers.databases import EVERY, FILE, Databases
from support.servers.redis import Redis

__all__ = ["ax", "clock", "nursery", "stage", "world"]

_number = itertools.count(1)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--thorough",
        action="store_true",
        default=os.environ.get("CI") == "true",
        help="every case on every database, nothing remembered or made ready (the default with CI=true)",
    )


def pytest_configure(config: pytest.Config) -> None:
    if not config.getoption("thorough"):
        known_gates.remember()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """What ``-n auto`` means: more than there are cores, as tests mostly wait."""
    cores = os.cpu_count() or 1
    return cores + (cores + 1) // 2


@pytest.hookimpl(trylast=True)  # what -k, -m and the like leave is what was asked for
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if not config.getoption("thorough"):
        items[:], left_out = one_each(items)
        config.hook.pytest_deselected(items=left_out)


@pytest.fixture(scope="session")
def forking(request: pytest.FixtureRequest) -> Nursery | None:
    """What workers are forked from, within milliseconds; None: each is started as the command, as a person does."""
    return None if request.config.getoption("thorough") else request.getfixturevalue("nursery")


@pytest.fixture(scope="session")
def redis_server() -> Iterator[Redis]:
    with Redis() as server:
        yield server


@pytest.fixture
def redis_url(redis_server: Redis) -> str:
    """The URL of a queue that holds nothing: a deployment of its own on one server."""
    return f"{redis_server.url}?prefix=test-{next(_number)}"


@pytest.fixture(scope="session")
def databases() -> Iterator[Databases]:
    with Databases() as running:
        yield running


@pytest.fixture(params=EVERY)
def url(request: pytest.FixtureRequest, tmp_path: Path, databases: Databases) -> Iterator[str]:
    """A fresh record on each database in turn; only on some with ``parametrize("url", [...], indirect=True)``."""
    with databases.fresh(request.param, tmp_path) as made:
        yield made


@pytest.fixture
def shared_url(request: pytest.FixtureRequest, databases: Databases) -> str | None:
    """An emptied record on each database in turn, for tests of one process; to be parametrized. None: in memory."""
    return None if request.param == FILE else databases.emptied(request.param)
