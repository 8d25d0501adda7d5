"""Shops on each database, on a SQLite file alone, or with a Celery fleet."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from support.children import Nursery
from support.outside import World
from support.servers.redis import Redis
from support.shops import Shop


@pytest.fixture
def shop_on(
    tmp_path: Path, url: str, redis_url: str, world: World, forking: Nursery | None
) -> Iterator[Shop]:
    """A shop on each database in turn."""
    world.begin_anew(tmp_path)
    with ExitStack() as ending:
        yield Shop(tmp_path, url, redis_url, world, ending, forking)


@pytest.fixture
def on_file(tmp_path: Path, redis_url: str, world: World, forking: Nursery | None) -> Iterator[Shop]:
    """A shop on SQLite."""
    world.begin_anew(tmp_path)
    with ExitStack() as ending:
        yield Shop(tmp_path, f"sqlite:///{tmp_path}/ax.db", redis_url, world, ending, forking)


@pytest.fixture
def fleet(tmp_path: Path, redis_server: Redis, world: World) -> Iterator[Shop]:
    """A shop on SQLite whose workers are Celery's, on a broker that holds nothing."""
    pytest.importorskip("celery")
    from support import celery_shop
    from support.fleets import Fleet

    world.begin_anew(tmp_path)
    with redis_server.client() as client:
        client.flushall()
    celery_shop.app.conf.broker_url = redis_server.url
    with ExitStack() as ending:
        made = Fleet(tmp_path, f"sqlite:///{tmp_path}/ax.db", celery_shop.QUEUE, world, ending)
        made.broker = redis_server.url
        yield made
