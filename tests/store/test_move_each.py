"""Several tasks are moved together, and each still by its own guard."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from ax_core import AX, StoreError
from ax_core.policy import Policy
from ax_core.states import Reason
from ax_core.store import audit, tasks, transitions

NOWHERE = "redis://127.0.0.1:9/0"


@pytest.fixture
def ax(url: str) -> Iterator[AX]:
    with AX(url, queue=NOWHERE) as made:
        made.register(
            lambda x: x, name="away", schema={"properties": {"x": {}}}, policy=Policy("read", where="worker")
        )
        yield made


def moved(ax: AX, rows: list[Any], steps: list[Any]) -> list[Any]:
    """How each came to stand."""
    moves = list(zip(rows, steps, strict=True))
    return ax._core.db.write(lambda tx: tasks.move_each(tx, moves, 5, "me"))


def queued(ax: AX, count: int) -> list[Any]:
    """Fresh tasks, as they are stored."""
    ids = sorted(str(ax.submit("away", {"x": number})) for number in range(count))
    return sorted(ax._core.db.read(lambda tx: tasks.several(tx, ids)))


def claim(row: Any) -> Any:
    return transitions.claim(row, "me", 5, 30, None, "claim")


def test_who_was_moved_meanwhile_is_not_and_the_others_are(ax: AX) -> None:
    """What they then say is what is stored, with its audit."""
    rows = queued(ax, 4)
    (theirs,) = moved(ax, [rows[1]], [claim(rows[1])])
    assert theirs.state == "RUNNING"
    now = moved(ax, rows, [claim(row) for row in rows])
    assert [row and (row.id, row.state, row.fence) for row in now] == [
        None if row is rows[1] else (row.id, "RUNNING", 1) for row in rows
    ]
    for row in (*(row for row in now if row), theirs):
        assert ax._core.db.read(lambda tx, row=row: tasks.get(tx, row.id)) == row
        assert ax.verify(row.id) is None
        assert [entry.verb for entry in ax.audit(row.id)] == ["submit", "claim"]


def test_a_task_of_which_only_the_audit_grew_is_moved(ax: AX) -> None:
    """Its guard is the state and the fence."""
    rows = queued(ax, 3)
    moved(ax, rows[:1], [transitions.note("seen")])
    assert [row.state for row in moved(ax, rows, [claim(row) for row in rows])] == ["RUNNING"] * 3
    assert [entry.verb for entry in ax.audit(rows[0].id)] == ["submit", "seen", "claim"]


def test_moves_of_different_kinds_are_made_one_by_one(ax: AX) -> None:
    rows = queued(ax, 2)
    steps = [claim(rows[0]), transitions.die("poison", Reason.POISON, 5, {})]
    assert [row.state for row in moved(ax, rows, steps)] == ["RUNNING", "DEAD"]
    assert all(ax.verify(row.id) is None for row in rows)


def test_nothing_is_moved_if_one_of_them_cannot_be_stored(ax: AX) -> None:
    """They are one transaction."""
    rows = queued(ax, 3)
    stray = audit.entry(rows[2].id, 2, "", 5, "stray", "QUEUED", "QUEUED", "somebody", None)
    ax._core.db.write(lambda tx: tx.insert("ax_audit", stray))
    with pytest.raises(StoreError):
        moved(ax, rows, [claim(row) for row in rows])
    assert [
        row.state for row in sorted(ax._core.db.read(lambda tx: tasks.several(tx, [r.id for r in rows])))
    ] == ["QUEUED"] * 3


@pytest.mark.parametrize("url", ["postgresql"], indirect=True)
def test_on_postgresql_they_are_one_round_trip(ax: AX, monkeypatch: pytest.MonkeyPatch) -> None:
    from ax_core.store.servers.numbered import NumberedCursor

    sent: list[int] = []
    many = NumberedCursor.executemany

    def counting(self: Any, query: Any, params_seq: Any, **how: Any) -> None:
        sent.append(len(params_seq))
        many(self, query, params_seq, **how)

    monkeypatch.setattr(NumberedCursor, "executemany", counting)
    rows = queued(ax, 5)
    assert [row.state for row in moved(ax, rows, [claim(row) for row in rows])] == ["RUNNING"] * 5
    assert sent == [5]
