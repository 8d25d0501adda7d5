"""What the same request gets when it is submitted again, in every state that its task can stand in."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ax_core import (
    AX,
    ConfirmationPending,
    Effect,
    InvalidArguments,
    NotApplied,
    OutcomeUnknown,
    PolicyError,
    Quarantined,
    Rejected,
    RequestConflict,
    State,
    Task,
    TaskCancelled,
    TaskDead,
    TaskTimeout,
    TaskUndone,
    ToolFailed,
)
from support.aside import Aside, outcome
from support.ears import Ear, late
from support.expiry import LIMIT, expiring
from support.fresh import fresh
from support.probe import Held, Probe
from support.skew import Skew


def again(ax: AX, **more: Any) -> Any:
    return outcome(lambda: ax.call("pay", request_id="r", **more))


def only(ax: AX) -> Task:
    (task,) = ax.tasks().tasks
    return ax.get(task.id)


def test_a_success_answers_with_the_stored_result_and_is_marked_replayed(ax: AX) -> None:
    probe = Probe({"refund": 1, "at": (1, 2)})
    probe.tool(ax)
    first = ax.call("pay", request_id="r")
    assert not only(ax).replayed
    second = ax.call("pay", request_id="r")
    assert second == first
    assert second is not first
    assert (probe.count, only(ax).replayed, only(ax).replays) == (1, True, 1)


def test_the_stored_result_outlives_the_process_and_the_tools_next_version(tmp_path: Path) -> None:
    path = tmp_path / "ax.db"
    with fresh(path=path) as ax:
        Probe("first").tool(ax)
        ax.call("pay", request_id="r")
    with fresh(path=path) as ax:
        probe = Probe("second")
        probe.tool(ax, version="2")
        assert (ax.call("pay", request_id="r"), probe.count) == ("first", 0)


def test_an_open_task_is_waited_for_and_gives_the_same_result(ax: AX) -> None:
    held = Held("one result")
    probe = Probe(held)
    probe.tool(ax)
    first = Aside(lambda: ax.call("pay", request_id="r"))
    held.wait_entered()
    second = Aside(lambda: ax.call("pay", request_id="r"))
    handle = ax.submit("pay", request_id="r")
    assert handle == only(ax).id
    held.go.set()
    assert first.result() == second.result() == ax.wait_for_result(handle, timeout=5) == "one result"
    assert probe.count == 1


@pytest.mark.parametrize("effect", [Effect.READ, Effect.IDEMPOTENT, Effect.KEYED, Effect.UNDECLARED])
def test_a_definite_failure_is_tried_again_by_the_same_task_under_the_same_key(
    ax: AX, effect: Effect
) -> None:
    probe = Probe(RuntimeError("down"))
    probe.tool(ax, effect=effect)
    with pytest.raises(ToolFailed, match="down"):
        ax.call("pay", request_id="r")
    assert ax.call("pay", request_id="r") == "done"
    assert (only(ax).state, only(ax).attempts, probe.count, len(probe.keys)) == (State.SUCCESS, 2, 2, 1)


def test_a_refusal_before_the_effect_may_be_tried_again_even_by_an_unsafe_tool(ax: AX) -> None:
    probe = Probe(NotApplied("closed at night"))
    probe.tool(ax, effect=Effect.UNSAFE)
    assert isinstance(again(ax), ToolFailed)
    assert again(ax) == "done"


def test_a_timeout_without_a_doubt_is_tried_again_once_its_attempt_has_ended(ax: AX) -> None:
    held = Held("late")
    probe = Probe(held)
    probe.tool(ax, effect=Effect.IDEMPOTENT, timeout=LIMIT)
    with expiring(held):
        assert isinstance(again(ax), TaskTimeout)
    refused = again(ax)
    assert isinstance(refused, TaskTimeout)
    assert "nothing new was started" in refused.for_model
    assert probe.count == 1
    noted = late(ax)
    held.go.set()
    noted.wait()
    assert (again(ax), probe.count, len(probe.keys)) == ("done", 2, 1)


def test_a_failure_that_may_have_applied_is_told_again_and_never_tried_again(ax: AX) -> None:
    probe = Probe(ConnectionResetError("read timed out"))
    probe.tool(ax, effect=Effect.UNSAFE, retries=2)
    for _ in range(3):
        answer = again(ax)
        assert isinstance(answer, ToolFailed)
        assert answer.maybe_applied
        assert not answer.safe_to_repeat
        assert isinstance(answer.__cause__, ConnectionResetError)
        assert "may have taken effect" in answer.for_model
    assert probe.count == 1


def test_an_unknown_outcome_is_told_again_and_never_tried_again(ax: AX) -> None:
    held = Held()
    probe = Probe(held)
    probe.tool(ax, timeout=LIMIT)
    for _ in range(3):
        with expiring(held):
            answer = again(ax)
        assert isinstance(answer, OutcomeUnknown)
        assert not answer.safe_to_repeat
        assert "UNKNOWN OUTCOME" in answer.for_model
    assert probe.count == 1
    held.go.set()


def test_invalid_arguments_are_told_again_without_a_second_task(ax: AX) -> None:
    probe = Probe()
    probe.tool(ax)
    for _ in range(2):
        with pytest.raises(InvalidArguments, match="ammount"):
            ax.call("pay", {"ammount": 5}, request_id="r")
    assert (only(ax).state, only(ax).reason, probe.count) == (State.QUARANTINE, "invalid_args", 0)


def test_a_cancelled_task_stays_cancelled(ax: AX) -> None:
    probe = Probe()
    probe.tool(ax)
    ax.pause("pay", by="ops")
    handle = ax.submit("pay", request_id="r")
    ax.cancel(handle, by="ops")
    ax.resume("pay", by="ops")
    assert isinstance(again(ax), TaskCancelled)
    assert probe.count == 0


def test_a_rejected_call_gets_the_stored_rejection_and_its_reason(ax: AX) -> None:
    """A host that passes the same message on once more does not reach the tool."""
    probe = Probe()
    probe.tool(ax, confirm=True)
    assert isinstance(again(ax), ConfirmationPending)
    ax.reject(only(ax).id, by="ann", reason="wrong account, use 4411")
    for _ in range(2):
        answer = again(ax)
        assert isinstance(answer, Rejected)
        assert "wrong account, use 4411" in answer.for_model
    assert probe.count == 0


def test_an_approval_that_expired_is_told_again(ax: AX, clock: Skew) -> None:
    probe = Probe()
    probe.tool(ax, confirm=True, confirm_ttl=60)
    again(ax)
    clock.ahead(61)
    ax._core._watch.beat([])
    answer = again(ax)
    assert isinstance(answer, Rejected)
    assert "nobody approved it in time" in answer.for_model
    assert probe.count == 0


def test_a_pending_call_stays_pending_and_is_not_asked_about_twice(ax: AX) -> None:
    probe = Probe()
    probe.tool(ax, confirm=True)
    pending = [again(ax) for _ in range(3)]
    assert [type(p) for p in pending] == [ConfirmationPending] * 3
    assert len({p.task_id for p in pending}) == 1
    assert len(ax.inbox()) == 1


def test_a_dead_letter_is_told_again(ax: AX) -> None:
    probe = Probe(RuntimeError("no"), RuntimeError("no"))
    probe.tool(ax, effect=Effect.IDEMPOTENT, retries=1, backoff=0)
    dead = Ear(ax, "dead")
    ax.submit("pay", request_id="r")
    dead.wait()
    assert (only(ax).state, only(ax).reason) == (State.DEAD, "retries_exhausted")
    assert isinstance(again(ax), TaskDead)
    assert probe.count == 2


def test_a_changed_tool_that_no_longer_takes_the_arguments_does_not_run_them(ax: AX) -> None:
    Probe().tool(ax)
    ax.pause("pay", by="ops")
    again(ax)
    ax.resume("pay", by="ops")
    entered = []
    ax._core.registry._tools.clear()

    @ax.tool(name="pay")
    def pay(order: int = 7) -> None:
        entered.append(order)

    task_id = only(ax).id
    assert isinstance(outcome(lambda: ax.wait_for_result(task_id)), Quarantined)
    assert (only(ax).reason, entered) == ("policy_changed", [])


def test_what_was_done_and_undone_is_told_as_that_and_never_as_a_result(ax: AX) -> None:
    probe = Probe("paid")
    undone = []
    probe.tool(ax, effect=Effect.KEYED, compensate=lambda args, result: undone.append(result))
    with ax.run() as run:
        again(ax)
    ax.rollback(run.id, by="ops")
    answer = again(ax)
    assert isinstance(answer, TaskUndone)
    assert "undone" in answer.for_model
    assert (undone, probe.count) == (["paid"], 1)


def test_a_retry_of_the_whole_step_does_not_run_its_finished_calls_again(ax: AX) -> None:
    charge, summary = Probe("charged"), Probe(RuntimeError("no tokens"), "summed up")
    charge.tool(ax, "charge", effect=Effect.UNSAFE)
    summary.tool(ax, "summarise")

    def step() -> str:
        with ax.run(key="turn-1"):
            ax.call("charge", {"order": "9"}, request_id="1")
            return ax.call("summarise", request_id="2")

    with pytest.raises(ToolFailed):
        step()
    assert step() == "summed up"
    assert (charge.count, summary.count) == (1, 2)


def test_an_outer_retry_attaches_to_the_same_task_instead_of_opening_a_budget_of_its_own(ax: AX) -> None:
    """Three outer tries of a tool whose policy permits two attempts of a call that commits and then raises."""
    unsafe, keyed = Probe(*[RuntimeError("reply lost")] * 9), Probe(*[RuntimeError("reply lost")] * 9)
    unsafe.tool(ax, "refund", effect=Effect.UNSAFE, retries=1, backoff=0)
    keyed.tool(ax, "charge", effect=Effect.KEYED, retries=1, backoff=0)
    for _ in range(3):
        outcome(lambda: ax.call("refund", request_id="a"))
        outcome(lambda: ax.call("charge", request_id="b"))
    assert unsafe.count == 1
    assert (keyed.count, len(keyed.keys)) == (4, 1)  # the policy's two, and one more for each who asked again


def test_a_known_request_with_other_arguments_is_a_conflict_and_touches_nothing(ax: AX) -> None:
    probe = Probe()
    probe.tool(ax)
    ax.call("pay", {"amount": 10}, request_id="r")
    with pytest.raises(RequestConflict, match="other arguments") as refused:
        ax.call("pay", {"amount": 99}, request_id="r")
    assert "nothing was done" in refused.value.for_model
    assert (probe.count, len(ax.tasks().tasks)) == (1, 1)


def test_a_known_request_for_another_tool_is_a_conflict_that_names_both_and_leaves_the_first_alone(
    ax: AX,
) -> None:
    held = Held("exported")
    export, ping = Probe(held), Probe()
    export.tool(ax, "export")
    ping.tool(ax, "ping")
    first = Aside(lambda: ax.call("export", request_id="r"))
    held.wait_entered()
    with pytest.raises(RequestConflict, match="'export'.*'ping'"):
        ax.call("ping", request_id="r")
    held.go.set()
    assert (first.result(), ping.count) == ("exported", 0)


def test_a_merged_request_with_other_arguments_is_a_conflict_too(ax: AX) -> None:
    probe = Probe()
    probe.tool(ax, effect=Effect.UNSAFE)
    with ax.run():
        ax.call("pay", {"amount": 10}, request_id="a")
        ax.call("pay", {"amount": 10}, request_id="b")
        with pytest.raises(RequestConflict):
            ax.call("pay", {"amount": 99}, request_id="b")
    assert probe.count == 1


def test_the_submitted_arguments_are_compared_whatever_defaults_and_order_say(ax: AX) -> None:
    probe = Probe()
    probe.tool(ax)
    ax.call("pay", {"order": "7", "amount": 10}, request_id="r")
    ax.call("pay", {"amount": 10, "order": "7"}, request_id="r")
    assert probe.count == 1


def test_without_a_request_id_two_calls_are_two_decisions(ax: AX) -> None:
    probe = Probe()
    probe.tool(ax)
    ax.call("pay")
    ax.call("pay")
    assert (probe.count, len(probe.keys)) == (2, 2)


def test_a_new_request_after_a_definite_failure_is_a_new_task_with_a_new_key(ax: AX) -> None:
    probe = Probe(NotApplied("no"))
    probe.tool(ax, effect=Effect.UNSAFE)
    with ax.run():
        outcome(lambda: ax.call("pay", request_id="a"))
        assert ax.call("pay", request_id="b") == "done"
    assert (len(ax.tasks().tasks), len(probe.keys)) == (2, 2)


@pytest.mark.parametrize("bad", ["", "a\nb", "x" * 256, 7])
def test_an_id_that_could_be_mistaken_for_another_is_refused(ax: AX, bad: object) -> None:
    Probe().tool(ax)
    for name in ("request_id", "key"):
        with pytest.raises(PolicyError, match=name):
            ax.call("pay", **{name: bad})
    assert ax.tasks().tasks == ()


def test_a_cancelled_request_that_failed_is_not_tried_again(ax: AX) -> None:
    held = Held(RuntimeError("stopped half way"))
    probe = Probe(held)
    probe.tool(ax)
    first = Aside(lambda: ax.call("pay", request_id="r"))
    held.wait_entered()
    ax.cancel(only(ax).id, by="ops")
    held.go.set()
    with pytest.raises(ToolFailed):
        first.result()
    assert isinstance(again(ax), ToolFailed)
    assert probe.count == 1


def test_a_new_attempt_is_judged_by_what_its_tool_promises_by_then(tmp_path: Path) -> None:
    """Declared IDEMPOTENT when it failed, and UNSAFE since: another failure is not tried a third time."""
    path = tmp_path / "ax.db"
    with fresh(path=path) as ax:
        Probe(RuntimeError("down")).tool(ax, effect=Effect.IDEMPOTENT)
        assert isinstance(again(ax), ToolFailed)
    with fresh(path=path) as ax:
        probe = Probe(RuntimeError("reply lost"))
        probe.tool(ax, effect=Effect.UNSAFE)
        for _ in range(2):
            answer = again(ax)
            assert isinstance(answer, ToolFailed)
            assert answer.maybe_applied
        assert (probe.count, only(ax).effect) == (1, "unsafe")
