"""Operator verbs, each tried on a task in every state: it is done once, or refused with the reason."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from ax_core import (
    AX,
    Effect,
    NotAllowed,
    NotApplied,
    OutcomeUnknown,
    State,
    StillRunning,
    UnknownTask,
    UnknownTool,
)
from ax_core.model import Verdict
from support.aside import Aside, outcome, together
from support.ears import Ear
from support.fresh import fresh
from support.probe import Held, Interrupt, Probe
from support.skew import Skew
from support.stage import Stage

STATES = {
    "queued": State.QUEUED,
    "waiting": State.WAITING,
    "confirming": State.CONFIRMING,
    "running": State.RUNNING,
    "retry_wait": State.RETRY_WAIT,
    "success": State.SUCCESS,
    "failed": State.FAILED,
    "maybe_applied": State.FAILED,
    "timeout": State.TIMEOUT,
    "invalid_args": State.QUARANTINE,
    "outcome_unknown": State.QUARANTINE,
    "still_open": State.QUARANTINE,
    "cancelled": State.CANCELLED,
    "rejected": State.CANCELLED,
    "dead": State.DEAD,
    "compensated": State.COMPENSATED,
}
VERBS: dict[str, Callable[[AX, str], Verdict]] = {
    "confirm": lambda ax, id: ax.confirm(id, by="ann"),
    "reject": lambda ax, id: ax.reject(id, by="ann", reason="no"),
    "cancel": lambda ax, id: ax.cancel(id, by="ann"),
    "requeue": lambda ax, id: ax.requeue(id, by="ann"),
    "happened": lambda ax, id: ax.resolve(id, happened=True, by="ann", result="seen"),
    "did not": lambda ax, id: ax.resolve(id, happened=False, by="ann"),
    "rerun": lambda ax, id: ax.resolve(id, happened=False, rerun=True, by="ann"),
}
NO, HAS = "refused", "already"
# What each verb makes of each state: the state after it, "already" (a polite no), or "refused" (NotAllowed).
OUTCOMES: dict[str, dict[str, str]] = {
    "confirm": {**dict.fromkeys(STATES, NO), "confirming": "QUEUED", "rejected": HAS},
    "reject": {**dict.fromkeys(STATES, NO), "confirming": "CANCELLED", "rejected": HAS},
    "cancel": {
        **dict.fromkeys(STATES, HAS),
        **dict.fromkeys(("queued", "waiting", "confirming", "retry_wait"), "CANCELLED"),
        **dict.fromkeys(("invalid_args", "dead"), "CANCELLED"),
        "running": "RUNNING",
        "outcome_unknown": NO,
        "still_open": NO,
    },
    "requeue": {
        **dict.fromkeys(STATES, NO),
        **dict.fromkeys(("failed", "maybe_applied", "timeout", "cancelled", "dead"), "QUEUED"),
        **dict.fromkeys(("queued", "running", "retry_wait"), HAS),
    },
    "happened": {
        **dict.fromkeys(STATES, NO),
        **dict.fromkeys(("maybe_applied", "outcome_unknown", "still_open", "dead"), "SUCCESS"),
    },
    "did not": {
        **dict.fromkeys(STATES, NO),
        **dict.fromkeys(("maybe_applied", "outcome_unknown", "still_open", "dead"), "FAILED"),
    },
    "rerun": {
        **dict.fromkeys(STATES, NO),
        **dict.fromkeys(("maybe_applied", "outcome_unknown", "dead"), "QUEUED"),
    },
}


@pytest.mark.parametrize("state", list(STATES))
@pytest.mark.parametrize("verb", list(VERBS))
def test_every_verb_from_every_state_is_done_once_or_refused_with_a_reason(
    ax: AX, verb: str, state: str
) -> None:
    stage = Stage(ax, state)
    before = ax.get(stage.id)
    assert before.state is STATES[state]
    entered = stage.probe.count
    expected = OUTCOMES[verb][state]
    verdict = outcome(lambda: VERBS[verb](ax, stage.id))
    if expected == NO:
        assert isinstance(verdict, NotAllowed)
        assert str(verdict).strip()
        assert ax.get(stage.id).state is before.state
    elif expected == HAS:
        assert not verdict
        assert "already" in verdict.message
        assert ax.get(stage.id).state is before.state
    else:
        assert verdict, verdict
        assert ax.get(stage.id).state == verdict.state == expected
        moved = next(e for e in reversed(ax.audit(stage.id)) if e.by == "ann")
        assert moved.target == expected
        second = outcome(lambda: VERBS[verb](ax, stage.id))  # the double click
        assert not (isinstance(second, Verdict) and second.done)
    assert ax.verify(stage.id) is None
    assert stage.probe.count == entered  # no verb ever enters a body
    stage.held.go.set()


@pytest.mark.parametrize("verb", list(VERBS))
def test_an_unknown_task_and_another_tenants_task_are_unknown_alike(ax: AX, verb: str) -> None:
    stage = Stage(ax, "confirming")
    messages = set()
    for tenant, task_id in ((ax, "no-such-task"), (ax.for_namespace("acme"), stage.id)):
        refused = outcome(lambda tenant=tenant, task_id=task_id: VERBS[verb](tenant, task_id))
        assert isinstance(refused, UnknownTask)
        messages.add(str(refused).replace(task_id, "…"))
    assert len(messages) == 1
    assert ax.get(stage.id).state is State.CONFIRMING


@pytest.mark.parametrize(
    "verb,state",
    [
        ("cancel", "queued"),
        ("requeue", "failed"),
        ("happened", "outcome_unknown"),
        ("did not", "outcome_unknown"),
        ("rerun", "outcome_unknown"),
        ("did not", "maybe_applied"),
        ("cancel", "running"),
    ],
)
def test_the_second_operator_is_told_what_was_decided_and_by_whom(ax: AX, verb: str, state: str) -> None:
    stage = Stage(ax, state)
    assert VERBS[verb](ax, stage.id)
    second = VERBS[verb](ax, stage.id)
    assert not second
    assert "ann" in second.message
    stage.held.go.set()


@pytest.mark.parametrize(
    "verb,state", [("cancel", "queued"), ("requeue", "failed"), ("happened", "outcome_unknown")]
)
def test_of_eight_operators_at_once_one_does_it(ax: AX, verb: str, state: str) -> None:
    stage = Stage(ax, state)
    verdicts = together([lambda: VERBS[verb](ax, stage.id)] * 8)
    assert [bool(v) for v in verdicts].count(True) == 1


# -- pausing a tool ------------------------------------------------------------------------------------------


def test_nothing_of_a_paused_tool_starts_and_what_runs_goes_on(ax: AX) -> None:
    held = Held("finished")
    probe = Probe(held)
    probe.tool(ax)
    running = Aside(lambda: ax.call("pay"))
    held.wait_entered()
    assert ax.pause("pay", by="ann")
    assert not ax.pause("pay", by="bob")
    with pytest.raises(StillRunning, match="paused"):
        ax.call("pay", request_id="r")
    handle = ax.submit("pay", request_id="s")
    held.go.set()
    assert (running.result(), probe.count) == ("finished", 1)
    assert ax.resume("pay", by="ann")
    assert not ax.resume("pay", by="bob")
    assert (ax.call("pay", request_id="r"), ax.wait_for_result(handle, timeout=10)) == ("done", "done")


def test_a_pause_holds_retries_and_approved_calls_back_too(ax: AX, clock: Skew) -> None:
    probe = Probe(NotApplied("busy"))
    probe.tool(ax, effect=Effect.UNSAFE, retries=1, backoff=60)
    asked = Probe()
    asked.tool(ax, "asked", confirm=True)
    retrying = Ear(ax, "retrying")
    handle = ax.submit("pay")
    retrying.wait()
    pending = outcome(lambda: ax.call("asked", request_id="a"))
    for tool in ("pay", "asked"):
        ax.pause(tool, by="ann")
    ax.confirm(pending.task_id, by="ann")
    clock.ahead(61)
    for waits in (lambda: ax.wait_for_result(handle), lambda: ax.call("asked", request_id="a")):
        assert isinstance(outcome(waits), StillRunning)
    assert (probe.count, asked.count) == (1, 0)


def test_a_pause_outlives_the_process_and_is_per_tenant(tmp_path: Any) -> None:
    path = tmp_path / "ax.db"
    with fresh(path=path) as ax:
        Probe().tool(ax)
        ax.pause("pay", by="ann")
        other = ax.for_namespace("acme")
        assert other.call("pay") == "done"
    with fresh(path=path) as ax:
        Probe().tool(ax)
        assert isinstance(outcome(lambda: ax.call("pay")), StillRunning)


def test_an_unknown_tool_cannot_be_paused(ax: AX) -> None:
    with pytest.raises(UnknownTool, match="'pai'"):
        ax.pause("pai", by="ann")


# -- the inbox -----------------------------------------------------------------------------------------------


def test_what_waits_for_a_person_is_listed_with_the_unknown_effects_first(ax: AX) -> None:
    Probe().tool(ax, "asked", confirm=True)
    Probe(Interrupt()).tool(ax, "acts")
    outcome(lambda: ax.call("asked"))
    outcome(lambda: ax.call("asked", {"nonsense": 1}))
    with pytest.raises(Interrupt):
        ax.call("acts", request_id="r")
    assert [(t.tool, t.state.value) for t in ax.inbox()] == [
        ("acts", "QUARANTINE"),
        ("asked", "CONFIRMING"),
        ("asked", "QUARANTINE"),
    ]
    with pytest.raises(OutcomeUnknown):
        ax.call("acts", request_id="r")
