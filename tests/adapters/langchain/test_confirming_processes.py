"""An approval outlives processes: a restart between question and answer, and several that resume at once."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from ax_core import AX, State
from support.resuming import Life

pytestmark = pytest.mark.xdist_group("resuming")

PAY = {
    "tools": ["pay"],
    "script": [[["pay", {"n": 1}, "p"]], "done"],
    "policies": {"pay": {"effect": "unsafe", "confirm": True}},
}


@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
def test_a_restart_between_the_question_and_the_answer(is_async: bool, tmp_path: Path) -> None:
    """Asked in one process, answered in the next, with another config around it: executed once."""
    life = Life(tmp_path, **PAY, is_async=is_async)
    started = life.run()
    assert started is not None and life.effects == []
    (asked,) = started["asked"]
    end = life.run(resume={asked["id"]: {"type": "approve"}}, configurable={"user": "somebody"})
    assert end is not None and end["told"] == ["pay 1 done"]
    assert life.effects == ["pay:1"]


def test_approved_by_another_process_while_nobody_runs(tmp_path: Path) -> None:
    """The web backend decides; whoever wakes the graph later finds it approved, and it runs once."""
    life = Life(tmp_path, **PAY)
    life.run()
    with AX(f"sqlite:///{tmp_path}/ax.db") as ax:
        (task,) = ax.inbox()
        assert ax.confirm(task.id, by="ops")
        assert ax.get(task.id).state is State.QUEUED
    assert life.effects == []
    end = life.run(resume="wake up")
    assert end is not None and end["told"] == ["pay 1 done"]
    assert life.effects == ["pay:1"]


def test_three_processes_that_resume_at_once_make_one_effect(tmp_path: Path) -> None:
    """LangGraph alone would pay three times."""
    life = Life(tmp_path, **PAY)
    life.run()
    with ThreadPoolExecutor(3) as pool:
        ends = list(pool.map(lambda _: life.run(resume="approve"), range(3)))
    assert life.effects == ["pay:1"]
    assert all(end is not None and end["last"] == "done" for end in ends)


def test_killed_between_the_approval_and_the_effect(tmp_path: Path) -> None:
    """The approval stands; the next process to resume runs it once."""
    life = Life(tmp_path, **PAY)
    life.run()
    assert life.run(resume="approve", kill_in="control.after_commit") is None
    end = life.run(start=None)
    assert end is not None and (end["asked"] or end["told"] == ["pay 1 done"])
    if end["asked"]:
        end = life.run(resume="approve")
    assert end is not None and end["told"] == ["pay 1 done"]
    assert life.effects == ["pay:1"]
