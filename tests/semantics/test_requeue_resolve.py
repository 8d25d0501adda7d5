"""An operator has a task run again, or says what became of it."""

from __future__ import annotations

import pytest

from ax_core import (
    AX,
    AXError,
    Effect,
    NotAllowed,
    NotApplied,
    State,
    TaskCancelled,
    ToolFailed,
)
from support.aside import outcome
from support.ears import Ear
from support.probe import Held, Interrupt, Probe
from support.stage import Stage


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
