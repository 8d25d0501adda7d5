"""A plain function that hangs: its caller goes on time, nothing runs beside it, and its late end settles the task."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from ax_core import AX, AXError, NotAllowed, NotApplied, OutcomeUnknown, State, StillRunning, TaskTimeout
from support.alerts import Alerts

TIMEOUT = 0.4
NEVER_REPEATED = pytest.mark.parametrize("effect", ["undeclared", "unsafe"])


class Hanging:
    """A tool that hangs until it is let go, and counts how often it was entered."""

    def __init__(self) -> None:
        self.door, self.entered, self.error = threading.Event(), 0, None
        self.inside = threading.Event()

    def __call__(self, n: int = 0) -> dict[str, int]:
        self.entered += 1
        mine = self.entered
        self.inside.set()
        self.door.wait(60)
        if self.error is not None:
            raise self.error
        return {"done": mine}


@pytest.fixture
def hanging() -> Iterator[Hanging]:
    made = Hanging()
    yield made
    made.door.set()


def hang(ax: AX, hanging: Hanging, effect: str, **policy: Any) -> AXError:
    """Call it until the time runs out; what its caller is told."""
    ax.register(hanging, name="hang", policy={"effect": effect, "timeout": TIMEOUT, **policy})
    with pytest.raises(AXError) as told:
        ax.call("hang", {"n": 1}, request_id="r")
    return told.value


def on_record(ax: AX) -> Any:
    task = ax.find_request("r")
    assert task is not None
    return task


@pytest.mark.parametrize("effect", ["read", "idempotent", "keyed", "undeclared", "unsafe"])
async def test_the_caller_is_free_within_a_third_more_than_the_timeout(ax: AX, effect: str) -> None:
    door = threading.Event()
    ax.register(lambda: door.wait(60), name="hang", policy={"effect": effect, "timeout": TIMEOUT})
    ratios: dict[str, list[float]] = {"sync": [], "async": []}
    try:
        for _ in range(4):
            for form, waited in ratios.items():
                began = time.monotonic()
                with pytest.raises(AXError):
                    _ = ax.call("hang") if form == "sync" else await ax.acall("hang")
                waited.append((time.monotonic() - began) / TIMEOUT)
    finally:
        door.set()
    # The machine may be busy with other things: the best of a few tries is what AX itself costs.
    assert {form: min(waited) < 1.3 for form, waited in ratios.items()} == {"sync": True, "async": True}, (
        ratios
    )


@NEVER_REPEATED
def test_nothing_runs_it_again_while_the_attempt_is_open(ax: AX, hanging: Hanging, effect: str) -> None:
    told = hang(ax, hanging, effect)
    assert isinstance(told, OutcomeUnknown)
    task = on_record(ax)
    assert (task.state, task.reason, task.history[0].closed) == (State.QUARANTINE, "outcome_unknown", False)
    with pytest.raises(OutcomeUnknown):
        ax.call("hang", {"n": 1}, request_id="r")
    for verb in (
        lambda: ax.requeue(task.id, by="ops"),
        lambda: ax.resolve(task.id, happened=False, rerun=True, by="ops"),
    ):
        with pytest.raises(NotAllowed):
            verb()
    assert ax.serve().round() == 0
    assert hanging.entered == 1


@pytest.mark.parametrize("effect", ["idempotent", "keyed"])
def test_a_retry_waits_for_the_end_of_the_attempt_that_hangs(
    ax: AX, alerts: Alerts, hanging: Hanging, effect: str
) -> None:
    began = time.monotonic()
    told = hang(ax, hanging, effect, retries=1, backoff=0)
    assert time.monotonic() - began < 10 * TIMEOUT
    assert isinstance(told, StillRunning)
    assert on_record(ax).state == State.RETRY_WAIT
    with pytest.raises(StillRunning, match="has not been seen to end"):
        ax.call("hang", {"n": 1}, request_id="r")
    with pytest.raises(StillRunning):
        ax.wait_for_result(on_record(ax).id, timeout=0.2)
    assert ax.serve().round() == 0
    assert hanging.entered == 1
    hanging.door.set()
    alerts.wait_for("late")
    ax.call("hang", {"n": 1}, request_id="r")
    assert on_record(ax).state == State.SUCCESS
    assert hanging.entered <= 2


@pytest.mark.parametrize("effect", ["idempotent", "keyed"])
def test_without_retries_it_is_a_timeout_that_may_be_repeated_once_it_has_ended(
    ax: AX, alerts: Alerts, hanging: Hanging, effect: str
) -> None:
    assert isinstance(hang(ax, hanging, effect), TaskTimeout)
    with pytest.raises(TaskTimeout, match="has not been seen to end"):
        ax.call("hang", {"n": 1}, request_id="r")
    with pytest.raises(NotAllowed):
        ax.requeue(on_record(ax).id, by="ops")
    assert hanging.entered == 1
    hanging.door.set()
    alerts.wait_for("late")
    ax.call("hang", {"n": 1}, request_id="r")
    assert on_record(ax).state == State.SUCCESS


@NEVER_REPEATED
def test_its_late_end_is_recorded_and_settles_the_task(
    ax: AX, alerts: Alerts, hanging: Hanging, effect: str
) -> None:
    hang(ax, hanging, effect)
    hanging.door.set()
    assert alerts.wait_for("late").state == State.SUCCESS
    task = on_record(ax)
    (attempt,) = task.history
    assert (task.state, task.result) == (State.SUCCESS, {"done": 1})
    assert (attempt.outcome, attempt.late_outcome, attempt.closed) == ("timeout", "returned", True)
    assert ax.call("hang", {"n": 1}, request_id="r") == {"done": 1}
    assert ax.verify(task.id) is None
    assert hanging.entered == 1


@NEVER_REPEATED
def test_a_late_failure_that_leaves_it_open_whether_it_acted_settles_nothing(
    ax: AX, alerts: Alerts, hanging: Hanging, effect: str
) -> None:
    """The model was told not to repeat it; a reply that was lost after all must not let it."""
    hang(ax, hanging, effect)
    hanging.error = RuntimeError("the line was cut")
    hanging.door.set()
    assert alerts.wait_for("late").state == State.QUARANTINE
    (attempt,) = on_record(ax).history
    assert (attempt.late_outcome, attempt.closed) == ("raised", True)


@NEVER_REPEATED
def test_a_late_word_that_it_did_not_act_settles_the_task(
    ax: AX, alerts: Alerts, hanging: Hanging, effect: str
) -> None:
    hang(ax, hanging, effect)
    hanging.error = NotApplied("refused")
    hanging.door.set()
    assert alerts.wait_for("late").state == State.FAILED
    assert not on_record(ax).maybe_applied


def test_a_person_who_was_faster_is_not_overruled_by_the_late_end(
    ax: AX, alerts: Alerts, hanging: Hanging
) -> None:
    hang(ax, hanging, "unsafe")
    ax.resolve(on_record(ax).id, happened=True, result="by hand", by="ops")
    hanging.door.set()
    alerts.wait_for("late")
    task = on_record(ax)
    assert (task.state, task.reason, task.result) == (State.SUCCESS, "resolved", "by hand")
    assert task.history[0].late_outcome == "returned"
