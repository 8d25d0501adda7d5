"""One Redis server per test session, and a deployment of its own on it for every test."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest

from support.servers.redis import Redis

_number = itertools.count(1)


@pytest.fixture(scope="session")
def redis_server() -> Iterator[Redis]:
    with Redis() as server:
        yield server


@pytest.fixture
def redis_url(redis_server: Redis) -> str:
    """The URL of a queue that holds nothing."""
    return f"{redis_server.url}?prefix=test-{next(_number)}"
