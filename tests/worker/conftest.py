"""Shops on each database, or on a SQLite file alone."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from support.children import Nursery
from support.outside import World
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
