"""Which store a URL means."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING

from ..clock import Clock
from ..threads import Threads
from .database import Database
from .store import Store

if TYPE_CHECKING:
    from sqlalchemy import Engine


def store_of(
    url: str,
    *,
    clock: Clock,
    threads: Threads,
    engine: Engine | None = None,
    announce: Callable[[str], None] = lambda where: None,
) -> Store:
    """The store at an address; nothing is opened yet.

    Raises:
        PolicyError: no store is kept there.
    """
    if in_a_file(engine.url.drivername if engine is not None else url):
        return Database(url, clock=clock, threads=threads, engine=engine, announce=announce)
    from .servers import Server

    return Server(url, clock=clock, threads=threads, engine=engine, announce=announce)


def in_a_file(url: str) -> bool:
    """Whether it is SQLite that is meant."""
    return url.startswith("sqlite")


def shown(url: str) -> str:
    """A URL for people and logs: without its password."""
    from sqlalchemy.engine import make_url
    from sqlalchemy.exc import ArgumentError

    try:
        return url if in_a_file(url) else make_url(url).render_as_string(hide_password=True)
    except (ArgumentError, ValueError):
        return url


def default_url() -> str:
    """``AX_URL``, else a file ``ax.db`` in the working folder."""
    return os.environ.get("AX_URL") or "sqlite:///ax.db"
