"""One database per case, in turn: what a developer's run takes of the cases that are there for every database."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from support.servers.databases import EVERY


def one_each(items: Iterable[pytest.Item]) -> tuple[list[pytest.Item], list[pytest.Item]]:
    """What is kept of these tests, and what is left out.

    The cases of a folder take turns in the order in which they stand, so that every database is used there; what was
    asked for on one database alone is kept.
    """
    cases: dict[tuple[str, ...], list[pytest.Item]] = {}
    for item in items:
        cases.setdefault(_case(item), []).append(item)
    turns: dict[str, int] = {}
    kept: list[pytest.Item] = []
    left_out: list[pytest.Item] = []
    for same in cases.values():
        if len(same) == 1:
            kept += same
            continue
        folder = same[0].nodeid.partition("::")[0].rpartition("/")[0]
        turn = turns[folder] = turns.get(folder, -1) + 1
        chosen = same[turn % len(same)]
        kept.append(chosen)
        left_out += [item for item in same if item is not chosen]
    return kept, left_out


def _case(item: pytest.Item) -> tuple[str, ...]:
    """The test and its parameters without the database; a test without one is its own case."""
    callspec = getattr(item, "callspec", None)
    if callspec is None or not any(_is_database(value) for value in callspec.params.values()):
        return (item.nodeid,)
    ids = item.name.partition("[")[2].rstrip("]").split("-")
    return (item.nodeid.partition("[")[0], *(each for each in ids if each not in EVERY))


def _is_database(value: object) -> bool:
    return isinstance(value, str) and value in EVERY
