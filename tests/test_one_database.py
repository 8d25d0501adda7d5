"""A developer's run takes one database per case; under CI, or with --thorough, every case is run on every one."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from support.one_database import one_each
from support.servers.databases import EVERY, SERVERS


def case(name: str, **params: Any) -> Any:
    """A test as it is collected."""
    ids = "-".join(str(value) for value in params.values())
    shown = f"{name}[{ids}]" if params else name
    return SimpleNamespace(
        name=shown, nodeid=f"tests/here/test_it.py::{shown}", callspec=SimpleNamespace(params=params)
    )


def test_each_case_is_kept_once_and_every_database_has_its_turn() -> None:
    items = [case(f"test_{n}", url=url, how=how) for n in range(3) for url in EVERY for how in ("a", "b")]
    kept, left_out = one_each(items)
    assert sorted((item.name.partition("[")[0], item.callspec.params["how"]) for item in kept) == [
        (f"test_{n}", how) for n in range(3) for how in ("a", "b")
    ]
    assert {item.callspec.params["url"] for item in kept} == set(EVERY)
    assert len(kept) + len(left_out) == len(items)


def test_what_is_asked_for_on_one_database_is_kept() -> None:
    """By its id, by -k, or because the test is about that one."""
    items = [case("test_it", url="mariadb", how=how) for how in ("a", "b")]
    assert one_each(items) == (items, [])


def test_what_has_no_database_is_kept() -> None:
    items = [case("test_plain"), *(case("test_it", effect=effect) for effect in ("read", "unsafe"))]
    assert one_each(items) == (items, [])


@pytest.mark.parametrize("database", SERVERS)
def test_this_one_itself_has_its_turn(database: str, request: pytest.FixtureRequest) -> None:
    """On all of them only where the run is thorough."""
    here = [item for item in request.session.items if item.name.startswith("test_this_one_itself")]
    assert database in SERVERS
    assert len(here) == 1 or request.config.getoption("thorough")
