"""A framework's pause, and steps that are carried out again around it."""

from __future__ import annotations

import pytest

from ax_core import (
    AX,
    Effect,
    State,
    StillRunning,
    Task,
)
from support.probe import Pause, Probe, paused


def only(ax: AX) -> Task:
    (task,) = ax.tasks().tasks
    return ax.get(task.id)


def test_a_pause_inside_a_loop_replays_what_stands_before_it(ax: AX) -> None:
    probe = Probe("logged")
    probe.tool(ax, "log_case", effect=Effect.UNSAFE)
    for _ in range(4):
        assert ax.call("log_case", {"order": "7"}, request_id="step-1") == "logged"
    assert (probe.count, only(ax).replays) == (1, 3)


def test_a_framework_pause_passes_through_and_the_task_goes_on_at_re_entry(ax: AX) -> None:
    probe, call = paused(ax, effect=Effect.UNSAFE, retries=3)
    assert (only(ax).state, only(ax).reason, only(ax).history[0].outcome) == (
        State.WAITING,
        "paused",
        "paused",
    )
    assert ax.dispatch(call, passes=(Pause,)).get() == "done"
    assert (only(ax).state, probe.count) == (State.SUCCESS, 2)


def test_a_pause_is_not_waited_for_by_somebody_who_cannot_resume_it(ax: AX) -> None:
    paused(ax)
    ax._core.registry._tools.clear()
    with pytest.raises(StillRunning):
        ax.wait_for_result(only(ax).id, timeout=0)
