"""The search for tasks that somebody may run now."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from ax_core import AX
from ax_core.policy import Policy
from ax_core.store.ready import Ready, Search, ready

NOWHERE = "redis://127.0.0.1:9/0"
ANY = {"properties": {"x": {}}}
SPACES = ("a", "b", "default")


@pytest.fixture
def ax(url: str) -> Iterator[AX]:
    with AX(url, queue=NOWHERE) as made:
        yield made


@pytest.fixture
def ids(ax: AX) -> list[str]:
    """Twelve tasks of three namespaces in turn, oldest first; every fifth waits for its retry, which is due."""
    each = [ax.for_namespace(name) for name in SPACES]
    for of in each:
        of.register(lambda x: x, name="away", schema=ANY, policy=Policy("read", where="worker"))
    made = [str(each[number % 3].submit("away", {"x": number})) for number in range(12)]
    for task_id in made[::5]:
        _set(ax, task_id, state="RETRY_WAIT", due_at=1)
    return made


def look(ax: AX, limit: int = 100, **how: Any) -> list[str]:
    """The ids of what is ready."""
    return [row.id for row in ax._core.db.read(lambda tx: ready(tx, ax._core.clock.now(), limit, **how))]


def test_the_oldest_of_all_namespaces_and_states_come_first(ax: AX, ids: list[str]) -> None:
    """In parts as in one; or those of one namespace."""
    assert look(ax) == ids
    found: list[str] = []
    while part := look(ax, 5, after=found[-1] if found else ""):
        assert len(part) <= 5
        found += part
    assert found == ids
    assert look(ax, ns="b") == ids[1::3]
    assert look(ax, 2, after=ids[3], ns="b") == [ids[4], ids[7]]
    assert look(ax, ns="nobody") == []


def test_what_nobody_may_run_now_is_not_among_them(ax: AX, ids: list[str]) -> None:
    """Not due, an attempt that may still act, too young for who asks, in another state."""
    _set(ax, ids[0], state="RETRY_WAIT", due_at=1 << 60)
    _set(ax, ids[1], state="RETRY_WAIT", due_at=1, attempt_open=1, effect="unsafe")
    _set(ax, ids[2], state="RETRY_WAIT", due_at=1, attempt_open=1)
    _set(ax, ids[3], state="CANCELLED")
    _set(ax, ids[4], created_at=1 << 60)
    assert look(ax) == [ids[2], *ids[4:]]
    assert look(ax, before=1 << 59) == [ids[2], *ids[5:]]


def test_a_search_goes_on_behind_what_it_has_shown_and_then_begins_anew(ax: AX, ids: list[str]) -> None:
    """Also where there was no room for all of a part."""
    search, shown = Search(5), list[str]()

    def take(row: Ready) -> bool:
        if len(shown) == 8:
            return False
        shown.append(row.id)
        return True

    for _ in range(3):
        search.look(ax._core.db, ax._core.clock.now(), take)
    assert shown == ids[:8]
    assert search.midway
    shown.clear()
    search.look(ax._core.db, ax._core.clock.now(), lambda row: bool(shown.append(row.id)) or True)
    assert shown == ids[8:]
    search.look(ax._core.db, ax._core.clock.now(), lambda row: bool(shown.append(row.id)) or True)
    assert shown == [*ids[8:], *ids[:5]]


def _set(ax: AX, task_id: str, **columns: Any) -> None:
    changes = ", ".join(f"{name} = :{name}" for name in columns)
    ax._core.db.write(
        lambda tx: tx.run(f"UPDATE ax_task SET {changes} WHERE id = :id", id=task_id, **columns)
    )
