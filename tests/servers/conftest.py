"""Fixtures for what only database servers do."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.servers.databases import SERVERS, Databases
from support.servers.home import Home
from support.starting_line import start

__all__ = ["start"]


@pytest.fixture(params=SERVERS)
def home(request: pytest.FixtureRequest, tmp_path: Path, databases: Databases) -> Iterator[Home]:
    with databases.fresh(request.param, tmp_path) as url:
        yield Home(databases.server(request.param), url.partition("?")[0].rpartition("/")[2], url)


@pytest.fixture(params=SERVERS)
def bare(request: pytest.FixtureRequest, tmp_path: Path, databases: Databases) -> Iterator[Home]:
    """The same with nothing in it."""
    with databases.fresh(request.param, tmp_path, empty=True) as url:
        yield Home(databases.server(request.param), url.partition("?")[0].rpartition("/")[2], url)


@pytest.fixture
def url(home: Home) -> str:
    """For tests of the races."""
    return home.url
