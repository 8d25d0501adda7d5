"""Rolling a run back where compensations fail: tried again, then left to a person, and the rest is undone."""

from __future__ import annotations

from typing import Any

import pytest

from ax_core import AX, Effect, Policy, RunState, State, TaskDead
from ax_core.states import Reason
from ax_core.store import runs, tasks
from support.probe import Pause, paused


class Undone:
    """A compensation whose attempts fail as often as it is told, and what the downstream saw of it."""

    def __init__(self, ax: AX, **fails: int) -> None:
        self.seen: list[str] = []
        self._fails = fails
        for name in ("a", "b"):
            compensate = ax.register(
                self._made(name), name=f"take back {name}", policy=Policy(Effect.KEYED, retries=2, backoff=0)
            )
            ax.register(
                lambda name=name: name,
                name=name,
                schema={},
                policy=Policy(Effect.KEYED, compensate=compensate),
            )

    def _made(self, name: str) -> Any:
        def undo(args: dict[str, Any], result: Any) -> None:
            assert result == name
            self.seen.append(name)
            if self.seen.count(name) <= self._fails.get(name, 0):
                raise ConnectionError("not now")

        return undo


def done(ax: AX) -> str:
    with ax.run() as run:
        ax.call("a")
        ax.call("b")
    return run.id


def test_a_compensation_that_fails_is_tried_again_before_the_one_before_it(ax: AX) -> None:
    """The last to be done is undone first, and only then the next."""
    undone = Undone(ax, b=2)
    run = done(ax)
    assert ax.rollback(run, by="ops").done
    assert undone.seen == ["b", "b", "b", "a"]
    tree = ax.tree(run)
    assert (tree.run.state, tree.run.reason) == (RunState.ROLLED_BACK, None)
    assert [t.state for t in tree.tasks if t.tool in ("a", "b")] == [State.COMPENSATED] * 2


def test_a_compensation_that_always_fails_is_left_to_a_person_and_the_rest_is_undone(ax: AX) -> None:
    """So often and no more; it never calls itself again."""
    undone = Undone(ax, b=99)
    run = done(ax)
    verdict = ax.rollback(run, by="ops")
    assert not verdict.done
    assert "need a person" in verdict.message
    assert undone.seen == ["b", "b", "b", "a"]
    tree = ax.tree(run)
    assert (tree.run.state, tree.run.reason) == (RunState.ROLLED_BACK, "compensation_failed")
    assert {t.tool: t.state for t in tree.tasks if t.tool in ("a", "b")} == {
        "a": State.COMPENSATED,
        "b": State.SUCCESS,
    }
    assert [t.tool for t in ax.inbox()] == ["b.undo"]


def test_a_run_that_was_rolled_back_takes_nothing_new(ax: AX) -> None:
    """Nor is it undone twice."""
    undone = Undone(ax)
    with ax.run(key="k") as run:
        ax.call("a")
        ax.rollback(run.id, by="ops")
        with pytest.raises(TaskDead):
            ax.call("b")
    assert undone.seen == ["a"]


def test_a_call_of_no_run_makes_no_further_attempt_once_the_run_of_its_own_id_has_ended(ax: AX) -> None:
    """What is rolled back without ever having been opened has a run from then on, and every claim asks for it."""

    probe, call = paused(ax)
    (task,) = ax.tasks().tasks
    db, now = ax._core.db, ax._core.clock.now()
    row = db.read(lambda tx: tasks.look(tx, task.id))
    assert row is not None and row.run_id == row.id
    ended = runs.ended_implicit(row, RunState.ROLLED_BACK, Reason.ROLLING_BACK, now)
    db.write(lambda tx: runs.create(tx, ended))
    with pytest.raises(TaskDead):
        ax.dispatch(call, passes=(Pause,))
    assert probe.count == 1
