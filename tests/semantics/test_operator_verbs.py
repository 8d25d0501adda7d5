"""Operator verbs, each tried on a task in every state: it is done once, or refused with the reason."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from ax_core import (
    AX,
    AXError,
    Effect,
    NotAllowed,
    NotApplied,
    OutcomeUnknown,
    State,
    StillRunning,
    TaskCancelled,
    ToolFailed,
    UnknownTask,
    UnknownTool,
)
from ax_core.model import Verdict
from support.aside import Aside, outcome, together
from support.ears import Ear
from support.expiry import LIMIT, expiring
from support.fresh import fresh
from support.probe import Held, Interrupt, Probe
from support.skew import Skew


class Pause(BaseException):
    """A framework's pause."""


class Stage:
    """A task in a given state, and what is needed to let it go at the end."""

    def __init__(self, ax: AX, state: str) -> None:
        self.ax, self.probe, self.held = ax, Probe(), Held()
        getattr(self, state)()
        self.id = ax.tasks(tool="pay").tasks[0].id

    def call(self) -> Any:
        return outcome(lambda: self.ax.call("pay", request_id="r"))

    def queued(self) -> None:
        self.probe.tool(self.ax)
        self.ax.pause("pay", by="setup")
        self.call()

    def confirming(self) -> None:
        self.probe.tool(self.ax, confirm=True)
        self.call()

    def running(self) -> None:
        self.probe.then(self.held)
        self.probe.tool(self.ax)
        self.ax.submit("pay", request_id="r")
        self.held.wait_entered()

    def waiting(self) -> None:
        from ax_core.dispatch import Call

        self.probe.then(Pause())
        tool = self.probe.tool(self.ax)
        with pytest.raises(Pause):
            self.ax.dispatch(Call(tool, {}, request_id="r"), passes=(Pause,))

    def retry_wait(self) -> None:
        self.probe.then(RuntimeError("no"))
        self.probe.tool(self.ax, effect="keyed", retries=1, backoff=3600)
        ear = Ear(self.ax, "retrying")
        self.ax.submit("pay", request_id="r")
        ear.wait()

    def success(self) -> None:
        self.probe.tool(self.ax)
        self.call()

    def failed(self) -> None:
        self.probe.then(NotApplied("no"))
        self.probe.tool(self.ax)
        self.call()

    def maybe_applied(self) -> None:
        self.probe.then(RuntimeError("reply lost"))
        self.probe.tool(self.ax, effect="unsafe")
        self.call()

    def timeout(self) -> None:
        self.probe.tool(self.ax)
        outcome(lambda: self.ax.call("pay", request_id="r", timeout=0))

    def invalid_args(self) -> None:
        self.probe.tool(self.ax)
        outcome(lambda: self.ax.call("pay", {"ordr": 1}, request_id="r"))

    def outcome_unknown(self) -> None:
        self.probe.then(Interrupt())
        self.probe.tool(self.ax)
        with pytest.raises(Interrupt):
            self.ax.call("pay", request_id="r")

    def still_open(self) -> None:
        self.probe.then(self.held)
        self.probe.tool(self.ax, timeout=LIMIT)
        with expiring(self.held):
            self.call()

    def cancelled(self) -> None:
        self.queued()
        self.ax.cancel(self.ax.tasks().tasks[0].id, by="setup")
        self.ax.resume("pay", by="setup")

    def rejected(self) -> None:
        self.confirming()
        self.ax.reject(self.ax.tasks().tasks[0].id, by="setup")

    def dead(self) -> None:
        self.probe.then(RuntimeError("no"), RuntimeError("no"))
        self.probe.tool(self.ax, effect="keyed", retries=1, backoff=0)
        ear = Ear(self.ax, "dead")
        self.ax.submit("pay", request_id="r")
        ear.wait()

    def compensated(self) -> None:
        self.probe.tool(self.ax, effect="keyed", compensate=lambda args, result: None)
        with self.ax.run() as run:
            self.call()
        self.ax.rollback(run.id, by="setup")


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


# -- requeue -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("state", ["failed", "maybe_applied", "timeout", "cancelled", "dead"])
def test_what_is_requeued_runs_once_under_its_key_and_says_who_will_run_it(ax: AX, state: str) -> None:
    stage = Stage(ax, state)
    before = stage.probe.count
    key = ax.get(stage.id).idempotency_key
    assert "when its caller comes back, or in ax.serve()" in ax.requeue(stage.id, by="ann").message
    assert (stage.call(), stage.probe.count) == ("done", before + 1)
    assert stage.probe.keys == {key}
    assert ax.get(stage.id).maybe_applied is False


def test_what_is_requeued_runs_in_a_process_that_serves(ax: AX) -> None:
    stage = Stage(ax, "failed")
    done = Ear(ax, "succeeded")
    with ax.serve():
        ax.requeue(stage.id, by="ann")
        done.wait()
    assert stage.call() == "done"


def test_no_requeue_gets_round_an_approval(ax: AX) -> None:
    """Cancelled while it waited for a person, and requeued: it waits for a person."""
    stage = Stage(ax, "confirming")
    ax.cancel(stage.id, by="ann")
    verdict = ax.requeue(stage.id, by="bob")
    assert (verdict.state, "approval" in verdict.message) == (State.CONFIRMING, True)
    assert isinstance(stage.call(), AXError)
    assert stage.probe.count == 0
    ax.confirm(stage.id, by="ann")
    assert stage.call() == "done"


def test_no_requeue_after_an_approved_failure_gets_round_an_approval_either(ax: AX) -> None:
    stage = Stage(ax, "confirming")
    stage.probe.then(NotApplied("no"))
    ax.confirm(stage.id, by="ann")
    assert isinstance(stage.call(), ToolFailed)
    assert ax.requeue(stage.id, by="bob").state == State.CONFIRMING
    assert ax.get(stage.id).approved is False


def test_no_requeue_repeats_what_an_equal_call_has_done_since(ax: AX) -> None:
    probe = Probe(NotApplied("no"))
    probe.tool(ax, effect=Effect.UNSAFE)
    with ax.run():
        outcome(lambda: ax.call("pay", request_id="a"))
        ax.call("pay", request_id="b")
    failed = ax.tasks(state="FAILED").tasks[0]
    with pytest.raises(NotAllowed, match="took the place"):
        ax.requeue(failed.id, by="ann")
    assert probe.count == 2


def test_no_requeue_passes_an_equal_call_in_doubt(ax: AX) -> None:
    probe = Probe(NotApplied("no"), Interrupt())
    probe.tool(ax)
    with pytest.raises(Interrupt), ax.run(session="s"):
        outcome(lambda: ax.call("pay", request_id="a"))
        ax.call("pay", request_id="b")
    with pytest.raises(NotAllowed, match="took the place"):
        ax.requeue(ax.tasks(state="FAILED").tasks[0].id, by="ann")


def test_a_requeued_task_holds_its_key_again(ax: AX) -> None:
    probe = Probe(NotApplied("no"))
    probe.tool(ax, effect=Effect.UNSAFE)
    with ax.run():
        outcome(lambda: ax.call("pay", request_id="a"))
        ax.requeue(ax.tasks().tasks[0].id, by="ann")
        assert ax.call("pay", request_id="b") == "done"  # merged into the requeued one, and runs it
    assert (probe.count, len(ax.tasks().tasks)) == (2, 1)


def test_an_unknown_effect_demands_an_answer_before_it_runs_again(ax: AX) -> None:
    stage = Stage(ax, "outcome_unknown")
    for _ in range(2):
        with pytest.raises(
            NotAllowed, match=r"resolve\(happened=True\) or resolve\(happened=False, rerun=True\)"
        ):
            ax.requeue(stage.id, by="ann")
    assert stage.probe.count == 1


# -- resolve -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("state", ["outcome_unknown", "maybe_applied", "still_open"])
def test_a_person_says_it_happened_and_the_caller_gets_that_result(ax: AX, state: str) -> None:
    stage = Stage(ax, state)
    ax.resolve(stage.id, happened=True, by="ann", result={"refund": 17})
    assert stage.call() == {"refund": 17}
    assert stage.probe.count == 1
    stage.held.go.set()


@pytest.mark.parametrize("state", ["outcome_unknown", "maybe_applied"])
def test_a_person_says_it_did_not_happen_and_it_may_be_issued_again(ax: AX, state: str) -> None:
    stage = Stage(ax, state)
    ax.resolve(stage.id, happened=False, by="ann")
    assert not ax.get(stage.id).maybe_applied
    assert stage.call() == "done"
    assert stage.probe.count == 2


@pytest.mark.parametrize("state", ["outcome_unknown", "maybe_applied"])
def test_a_person_says_it_did_not_happen_and_orders_it_to_run(ax: AX, state: str) -> None:
    stage = Stage(ax, state)
    verdict = ax.resolve(stage.id, happened=False, rerun=True, by="ann")
    assert (verdict.state, stage.probe.count) == (State.QUEUED, 1)
    assert stage.call() == "done"
    assert (stage.probe.count, len(stage.probe.keys)) == (2, 1)


def test_what_happened_is_not_run_again(ax: AX) -> None:
    stage = Stage(ax, "outcome_unknown")
    with pytest.raises(NotAllowed, match="rerun= goes with happened=False"):
        ax.resolve(stage.id, happened=True, rerun=True, by="ann")


def test_a_persons_word_does_not_end_a_body_that_still_runs(ax: AX) -> None:
    """It did not happen, says ann; but the thread is still alive, so nothing runs beside it."""
    stage = Stage(ax, "still_open")
    with pytest.raises(NotAllowed, match="may still act"):
        ax.resolve(stage.id, happened=False, rerun=True, by="ann")
    ax.resolve(stage.id, happened=False, by="ann")
    assert isinstance(stage.call(), ToolFailed)
    with pytest.raises(NotAllowed, match="not been seen to end"):
        ax.requeue(stage.id, by="ann")
    assert stage.probe.count == 1
    closed = Ear(ax, "alert", kind="late")
    stage.held.go.set()
    assert closed.wait().detail["outcome"] == "returned"
    assert (stage.call(), stage.probe.count) == ("done", 2)


def test_a_cancelled_task_that_may_have_acted_can_be_settled_and_stays_cancelled(ax: AX) -> None:
    held = Held(lambda ctx: ctx.raise_if_cancelled())
    probe = Probe(held)
    probe.tool(ax)
    handle = ax.submit("pay", request_id="r")
    held.wait_entered()
    ax.cancel(handle, by="ann")
    held.go.set()
    with pytest.raises(TaskCancelled, match="partly done"):
        ax.wait_for_result(handle, timeout=10)
    assert ax.resolve(handle, happened=False, by="ann")
    assert (ax.get(handle).state, ax.get(handle).maybe_applied) == (State.CANCELLED, False)
    with pytest.raises(TaskCancelled):
        ax.call("pay", request_id="r")
    assert probe.count == 1


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
