"""What all tests may ask for: the servers, started once a session when a test first needs one."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.servers.databases import EVERY, FILE, Databases
from support.servers.redis import Redis

_number = itertools.count(1)


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
