"""What comes late is evidence; what is in doubt may be settled by it, by the tool's own reconcile, or by a person."""

from __future__ import annotations

import threading
from itertools import pairwise
from typing import Any

import pytest

from ax_core import (
    AX,
    DidNotHappen,
    Effect,
    Happened,
    NotApplied,
    OutcomeUnknown,
    State,
    TaskDead,
    ToolFailed,
    Unknown,
    current,
)
from support.aside import Aside, outcome
from support.ears import Ear, late
from support.expiry import LIMIT, expiring
from support.fresh import beat, fresh, watch
from support.probe import Held, Interrupt, Probe
from support.skew import Skew


def only(ax: AX) -> Any:
    (task,) = ax.tasks().tasks
    return ax.get(task.id)


def doubt(ax: AX, probe: Probe, **policy: Any) -> None:
    """Leave an effect in doubt whose attempt is closed."""
    probe.then(Interrupt())
    probe.tool(ax, **{"effect": Effect.UNSAFE} | policy)
    with pytest.raises(Interrupt):
        ax.call("pay", request_id="r")


# -- late ends -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "effect,then,state",
    [
        (Effect.UNSAFE, "paid", State.SUCCESS),
        (Effect.UNDECLARED, "paid", State.SUCCESS),
        (Effect.UNSAFE, NotApplied("no"), State.FAILED),
        (Effect.UNDECLARED, NotApplied("no"), State.FAILED),
    ],
)
def test_a_late_end_settles_a_doubt_that_nobody_has_resolved(
    ax: AX, effect: Effect, then: Any, state: State
) -> None:
    held, ear = Held(then), late(ax)
    Probe(held).tool(ax, effect=effect, timeout=LIMIT)
    with expiring(held), pytest.raises(OutcomeUnknown):
        ax.call("pay", request_id="r")
    assert not only(ax).history[0].closed
    held.go.set()
    alert = ear.wait()
    assert (alert.task_id, alert.state) == (only(ax).id, state)
    attempt = only(ax).history[0]
    assert (only(ax).state, only(ax).maybe_applied, attempt.closed) == (state, False, True)
    assert attempt.late_at is not None
    assert attempt.late_outcome == ("returned" if then == "paid" else "raised")
    assert [e.verb for e in ax.audit(only(ax).id)] == ["claim", "timeout", "late_settled"]


@pytest.mark.parametrize("effect", [Effect.UNSAFE, Effect.UNDECLARED])
def test_a_late_exception_does_not_tell_whether_it_acted_so_the_doubt_stays(ax: AX, effect: Effect) -> None:
    held, ear = Held(RuntimeError("reply lost")), late(ax)
    probe = Probe(held)
    probe.tool(ax, effect=effect, timeout=LIMIT)
    with expiring(held), pytest.raises(OutcomeUnknown):
        ax.call("pay", request_id="r")
    held.go.set()
    ear.wait()
    attempt = only(ax).history[0]
    assert (only(ax).reason, attempt.closed, attempt.late_outcome) == ("outcome_unknown", True, "raised")
    with pytest.raises(OutcomeUnknown):
        ax.call("pay", request_id="r")
    assert probe.count == 1


def test_a_late_end_never_overrules_a_person(ax: AX) -> None:
    held, ear = Held("paid after all"), late(ax)
    Probe(held).tool(ax, effect=Effect.UNSAFE, timeout=LIMIT)
    with expiring(held), pytest.raises(OutcomeUnknown):
        ax.call("pay", request_id="r")
    ax.resolve(only(ax).id, happened=True, result="seen in the ledger", by="ann")
    held.go.set()
    ear.wait()
    assert (only(ax).result, only(ax).history[0].late_result) == ("seen in the ledger", "paid after all")
    assert ax.call("pay", request_id="r") == "seen in the ledger"


def test_a_late_end_never_overwrites_a_newer_attempt(ax: AX, clock: Skew) -> None:
    """Stopped for too long, it wakes up: refused by the fence, told the truth, and kept as evidence."""
    zombie = Held("from the first")
    probe = Probe(zombie, "from the second")
    probe.tool(ax, effect=Effect.KEYED)
    first = Aside(lambda: ax.call("pay", request_id="r"))
    zombie.wait_entered()
    clock.ahead(31)
    assert ax.call("pay", request_id="r") == "from the second"
    zombie.go.set()
    assert first.result() == "from the second"
    one, two = only(ax).history
    assert (one.fence, one.outcome, one.late_outcome, one.late_result) == (
        1,
        "lost",
        "returned",
        "from the first",
    )
    assert (two.fence, two.outcome, only(ax).result) == (2, "returned", "from the second")
    assert [fence for _, fence, _, _ in probe.seen] == [1, 2]


def test_a_zombie_that_wakes_beside_a_running_attempt_changes_nothing(ax: AX, clock: Skew) -> None:
    zombie, second = Held("zombie"), Held("second")
    Probe(zombie, second).tool(ax, effect=Effect.KEYED)
    first = Aside(lambda: ax.call("pay", request_id="r"))
    zombie.wait_entered()
    clock.ahead(31)
    retaking = Aside(lambda: ax.call("pay", request_id="r"))
    second.wait_entered()
    zombie.go.set()
    ear = late(ax)
    ear.wait() if not only(ax).history[0].late_at else None
    assert only(ax).state is State.RUNNING
    second.go.set()
    assert (first.result(), retaking.result()) == ("second", "second")


def test_the_end_of_an_older_attempt_settles_no_doubt_about_a_newer_one(ax: AX, clock: Skew) -> None:
    zombie, second = Held("of the first"), Held("of the second")
    Probe(zombie, second).tool(ax, effect=Effect.UNSAFE)
    first = Aside(lambda: ax.call("pay", request_id="r"))
    zombie.wait_entered()
    clock.ahead(31)
    beat(ax)
    ax.resolve(only(ax).id, happened=False, rerun=True, by="ann")
    with expiring(second), pytest.raises(OutcomeUnknown):
        ax.call("pay", request_id="r", timeout=LIMIT)
    ear = late(ax)
    zombie.go.set()
    ear.wait()
    assert (only(ax).reason, [a.closed for a in only(ax).history]) == ("outcome_unknown", [True, False])
    assert isinstance(outcome(first.result), OutcomeUnknown)
    second.go.set()


def test_a_doubt_is_an_alert(ax: AX) -> None:
    ear = Ear(ax, "alert", kind="outcome_unknown")
    doubt(ax, Probe())
    assert ear.wait().task_id == only(ax).id


# -- reconcile -----------------------------------------------------------------------------------------------


def test_the_tool_itself_may_know_that_it_happened(ax: AX, clock: Skew) -> None:
    asked: list[Any] = []

    def reconcile(ctx: Any) -> Any:
        asked.append((ctx.task_id, ctx.idempotency_key, current().task_id))
        return Happened({"refund": 17})

    probe = Probe()
    doubt(ax, probe, reconcile=reconcile, settle=60)
    beat(ax)
    clock.ahead(59)
    beat(ax)
    assert asked == []  # what was under way may still arrive
    clock.ahead(2)
    beat(ax)
    assert asked == [(only(ax).id, only(ax).idempotency_key, only(ax).id)]
    assert (ax.call("pay", request_id="r"), probe.count) == ({"refund": 17}, 1)
    assert [e.by for e in ax.audit(only(ax).id) if e.verb == "reconcile"] == ["reconcile"]


def test_the_tool_itself_may_know_that_it_did_not_happen_and_then_it_runs_again(ax: AX, clock: Skew) -> None:
    probe = Probe()
    doubt(ax, probe, reconcile=lambda ctx: DidNotHappen(), settle=0)
    beat(ax)
    assert only(ax).state is State.QUEUED
    assert ax.call("pay", request_id="r") == "done"
    assert (probe.count, len(probe.keys)) == (2, 1)


def test_a_tool_that_cannot_tell_leaves_it_to_a_person_and_is_asked_again(ax: AX, clock: Skew) -> None:
    answers: list[Any] = [Unknown(), RuntimeError("down"), Happened("found")]

    def reconcile(ctx: Any) -> Any:
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    doubt(ax, Probe(), reconcile=reconcile, settle=0)
    for _ in range(2):
        beat(ax)
        assert only(ax).reason == "outcome_unknown"
        clock.ahead(3600)
    beat(ax)
    assert only(ax).result == "found"


@pytest.mark.slow
def test_a_tool_that_cannot_tell_is_asked_ever_more_seldom_but_every_hour(ax: AX, clock: Skew) -> None:
    asked: list[float] = []
    began = clock.monotonic()

    def reconcile(ctx: Any) -> Any:
        asked.append(clock.monotonic() - began)
        return Unknown()

    doubt(ax, Probe(), reconcile=reconcile, settle=0)
    for _ in range(4 * 3600 // 5):
        beat(ax)
        clock.ahead(5)
    waits = [round(later - earlier) for earlier, later in pairwise(asked)]
    assert waits == sorted(waits)
    assert 5 <= waits[0] < 15
    assert 3600 <= waits[-1] < 3610
    assert 10 < len(asked) < 20


def test_the_doubts_of_one_namespace_are_not_asked_about_anew_for_another_s(ax: AX, clock: Skew) -> None:
    asked: list[str] = []
    probe = Probe()
    doubt(ax, probe, reconcile=lambda ctx: asked.append(ctx.task_id) or Unknown(), settle=0)
    probe.then(Interrupt())
    with pytest.raises(Interrupt):
        ax.for_namespace("other").call("pay", request_id="r")
    for _ in range(3):
        beat(ax)
    assert len(asked) == len(set(asked)) == 2


def test_nobody_is_asked_about_an_attempt_that_may_still_act(ax: AX, clock: Skew) -> None:
    held, asked = Held("late"), []
    Probe(held).tool(ax, effect=Effect.UNSAFE, timeout=LIMIT, settle=0, reconcile=lambda ctx: asked.append(1))
    with expiring(held), pytest.raises(OutcomeUnknown):
        ax.call("pay")
    clock.ahead(3600)
    beat(ax)
    assert asked == []
    held.go.set()


def test_an_answer_about_an_older_attempt_settles_nothing(ax: AX) -> None:
    """While the tool was asked, ann ordered another try, and that one is in doubt as well."""
    probe = Probe()

    def reconcile(ctx: Any) -> Any:
        if ctx.fence == 1:
            ax.resolve(ctx.task_id, happened=False, rerun=True, by="ann")
            with pytest.raises(Interrupt):
                ax.call("pay", request_id="r")
        return Happened("of the first") if ctx.fence == 1 else Unknown()

    probe.then(Interrupt(), Interrupt())
    probe.tool(ax, effect=Effect.UNSAFE, reconcile=reconcile, settle=0)
    with pytest.raises(Interrupt):
        ax.call("pay", request_id="r")
    beat(ax)
    assert (only(ax).reason, only(ax).attempts) == ("outcome_unknown", 2)


def test_a_tool_that_never_lives_to_act_is_given_up_however_often_it_says_so(ax: AX) -> None:
    probe = Probe(*[Interrupt()] * 9)
    probe.tool(ax, effect=Effect.UNSAFE, reconcile=lambda ctx: DidNotHappen(), settle=0)
    for _ in range(5):
        with pytest.raises(Interrupt):
            ax.call("pay", request_id="r")
        beat(ax)
    with pytest.raises(TaskDead):
        ax.call("pay", request_id="r")
    assert (probe.count, only(ax).reason) == (5, "poison")


def test_a_downstream_that_hangs_does_not_keep_the_watch_from_renewing(clock: Skew) -> None:
    hangs, inside = threading.Event(), threading.Event()

    def reconcile(ctx: Any) -> Any:
        inside.set()
        hangs.wait(20)
        return Unknown()

    with fresh(clock) as ax:
        doubt(ax, Probe(), reconcile=reconcile, settle=0)
        held = Held()
        Probe(held).tool(ax, "slow")
        call = Aside(lambda: ax.call("slow"))
        held.wait_entered()
        watcher = watch(ax)
        watcher.beat(ax._core.live.all(), apart=True)  # as on its own thread
        assert inside.wait(10)
        for _ in range(4):
            clock.ahead(20)
            watcher.beat(ax._core.live.all(), apart=True)
        assert ax.tasks(tool="slow").tasks[0].state is State.RUNNING
        hangs.set()
        held.go.set()
        assert call.result() == "done"


def test_a_failure_that_may_have_applied_can_be_reconciled_by_a_person_only(ax: AX) -> None:
    asked: list[int] = []
    probe = Probe(RuntimeError("reply lost"))
    probe.tool(ax, effect=Effect.UNSAFE, reconcile=lambda ctx: asked.append(1), settle=0)
    assert isinstance(outcome(lambda: ax.call("pay", request_id="r")), ToolFailed)
    beat(ax)
    assert (asked, only(ax).maybe_applied) == ([], True)
