"""A fresh AX per test: real SQLite, whose schema the migrations make once and SQLite itself copies."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from ax_core import AX
from ax_core.store import database, migrate
from ax_core.store.dialects import PAGE
from support.skew import Skew

_upgrade = migrate.upgrade


@cache
def _migrated() -> sqlite3.Connection:
    raw = sqlite3.connect(":memory:", check_same_thread=False)
    raw.isolation_level = None
    raw.execute(f"PRAGMA page_size={PAGE}")  # a copy takes pages as they are
    _upgrade(raw, "the template")
    return raw


def _copied(raw: sqlite3.Connection, where: str) -> None:
    if raw.execute("SELECT COUNT(*) FROM sqlite_master").fetchone()[0]:
        _upgrade(raw, where)
    else:
        _migrated().backup(raw)


@contextmanager
def fresh(
    clock: Skew | None = None,
    path: Path | None = None,
    *,
    url: str | None = None,
    watched: bool = False,
    **settings: Any,
) -> Iterator[AX]:
    """An open AX in memory, on the file ``path``, or on a server at ``url``.

    Without ``watched`` nothing happens behind the test's back: no lease is renewed, nobody is classified, until the
    test says so with :func:`beat` and :func:`tick`.
    """
    kept, database.migrate.upgrade = database.migrate.upgrade, _copied
    try:
        where = url or ("sqlite://" if path is None else f"sqlite:///{path}")
        ax = AX(where, clock=clock or Skew(), **settings)
        ax.tasks()
    finally:
        database.migrate.upgrade = kept
    if not watched:
        watch(ax).stop()
        # A server's clock stands where it was looked at first, and moves on with the test's.
        setattr(ax._core.db, "beat", lambda: None)  # noqa: B010 - mypy would not have it otherwise
    try:
        yield ax
    finally:
        ax.close(drain=0)


def watch(ax: AX) -> Any:
    """The watch of an open AX."""
    return ax._core._watch


def beat(ax: AX) -> None:
    """One round of the slower duties: sweep, expire, reconcile. Nothing is renewed."""
    watch(ax).beat([])


def tick(ax: AX) -> None:
    """One round of the quick duties: cancels are passed on, the overdue are warned of."""
    watch(ax).tick()


@pytest.fixture
def clock() -> Skew:
    """One that can be pushed ahead."""
    return Skew()


@pytest.fixture
def ax(clock: Skew) -> Iterator[AX]:
    """An open AX in memory that nobody watches, where a room has no other."""
    with fresh(clock) as made:
        yield made
