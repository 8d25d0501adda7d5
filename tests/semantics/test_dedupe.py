"""Equal calls under different requests: the scope, the key, and what a duplicate gets."""

from __future__ import annotations

from pathlib import Path

import pytest

from ax_core import (
    AX,
    Budget,
    BudgetExceeded,
    ConfirmationPending,
    Effect,
    OutcomeUnknown,
    Policy,
    PolicyError,
    RequestConflict,
    State,
)
from support.aside import Aside, outcome
from support.expiry import LIMIT, expiring
from support.fresh import fresh
from support.probe import Held, Probe
from support.skew import Skew


@pytest.mark.parametrize("effect", [Effect.READ, Effect.IDEMPOTENT, Effect.UNDECLARED])
def test_two_equal_calls_are_two_calls_unless_the_tool_is_a_declared_write(ax: AX, effect: Effect) -> None:
    probe = Probe()
    probe.tool(ax, effect=effect)
    with ax.run():
        ax.call("pay")
        ax.call("pay")
    assert probe.count == 2


@pytest.mark.parametrize("effect", [Effect.KEYED, Effect.TRANSACTIONAL, Effect.UNSAFE])
def test_an_identical_write_inside_one_intent_is_the_model_repeating_itself(ax: AX, effect: Effect) -> None:
    probe = Probe("paid")
    probe.tool(ax, effect=effect)
    with ax.run():
        assert (ax.call("pay"), ax.call("pay")) == ("paid", "paid")
        assert ax.call("pay", {"order": "8"}) == "done"
    with ax.run():
        ax.call("pay")
    assert probe.count == 3


def test_the_model_is_told_that_nothing_was_executed_again(ax: AX) -> None:
    from ax_core.dispatch import Call

    probe = Probe("paid")
    tool = probe.tool(ax, effect=Effect.UNSAFE)
    with ax.run():
        ax.call("pay")
        answer = ax.dispatch(Call(tool, {}))
    assert (answer.how, answer.get()) == ("merged", "paid")
    assert answer.note is not None
    assert "Nothing was executed again" in answer.note


def test_scope_session_spans_runs_and_ends_at_the_session(ax: AX) -> None:
    probe = Probe()
    probe.tool(ax, effect=Effect.UNSAFE, dedupe="session")
    for session in ("a", "a", "b"):
        with ax.run(session=session):
            ax.call("pay")
    assert probe.count == 2


def test_scope_global_spans_everything_for_its_window(ax: AX, clock: Skew) -> None:
    probe = Probe()
    probe.tool(ax, effect=Effect.UNSAFE, dedupe="global", window=60)
    ax.call("pay")
    with ax.run(session="b"):
        ax.call("pay")
    assert probe.count == 1
    clock.ahead(61)
    ax.call("pay")
    fresh_task, old = ax.tasks().tasks
    assert (probe.count, fresh_task.attempts, fresh_task.idempotency_key != old.idempotency_key) == (
        2,
        1,
        True,
    )
    assert (fresh_task.started_at - old.started_at).total_seconds() > 60


def test_a_window_needs_no_scope_to_be_wide_and_a_global_scope_needs_a_window(ax: AX) -> None:
    with pytest.raises(PolicyError, match="window"):
        Policy(dedupe="global")
    Probe().tool(ax)
    with pytest.raises(PolicyError, match="window"):
        ax.call("pay", dedupe="global")


def test_a_call_may_choose_another_scope_than_its_tool(ax: AX) -> None:
    probe = Probe()
    probe.tool(ax)
    with ax.run(session="a"):
        ax.call("pay", dedupe="session")
        ax.call("pay", dedupe="run")
    with ax.run(session="a"):
        ax.call("pay", dedupe="session")
        with ax.override(dedupe="session"):
            ax.call("pay")
    assert probe.count == 2
    with pytest.raises(PolicyError, match="dedupe='sesion'"):
        ax.call("pay", dedupe="sesion")


def test_a_run_that_nobody_opened_merges_nothing(ax: AX) -> None:
    probe = Probe()
    probe.tool(ax, effect=Effect.UNSAFE)
    ax.call("pay")
    ax.call("pay")
    assert probe.count == 2


def test_a_window_after_which_the_same_intent_is_a_new_one(ax: AX, clock: Skew) -> None:
    probe = Probe()
    probe.tool(ax, effect=Effect.UNSAFE, window=100)
    with ax.run(key="turn"):
        ax.call("pay")
        clock.ahead(50)
        ax.call("pay")
        clock.ahead(60)
        ax.call("pay")
    assert probe.count == 2


@pytest.mark.parametrize("ms", [30, 1])
def test_one_event_delivered_twice_without_an_id_follows_the_declared_window(
    ax: AX, clock: Skew, ms: int
) -> None:
    """With a window: one execution, and the audit names the rule. Without one: two."""
    deduped, plain = Probe(), Probe()
    deduped.tool(ax, "hook", dedupe="session", window=60)
    plain.tool(ax, "bare")
    for _ in range(2):
        with ax.run(session="s"):
            ax.call("hook")
            ax.call("bare")
        clock.ahead(ms / 1000)
    assert (deduped.count, plain.count) == (1, 2)
    hook = ax.tasks(tool="hook").tasks[0]
    assert [(e.verb, e.detail["scope"]) for e in ax.audit(hook.id) if "scope" in e.detail] == [
        ("merged", "merged")
    ]


# -- what a duplicate gets -----------------------------------------------------------------------------------


def test_a_duplicate_may_be_refused_and_stays_refused_when_it_is_sent_again(ax: AX) -> None:
    probe = Probe()
    probe.tool(ax, effect=Effect.UNSAFE, on_duplicate="refuse")
    with ax.run():
        ax.call("pay", request_id="a")
        for _ in range(2):
            with pytest.raises(RequestConflict) as refused:
                ax.call("pay", request_id="b")
            assert "Nothing was executed again" in refused.value.for_model
        assert ax.call("pay", request_id="a") == "done"
    assert probe.count == 1


def test_a_duplicate_may_be_put_to_a_person_once(ax: AX) -> None:
    probe = Probe("first", "second")
    probe.tool(ax, effect=Effect.UNSAFE, on_duplicate="confirm")
    with ax.run():
        assert ax.call("pay", request_id="a") == "first"
        pending = [outcome(lambda r=r: ax.call("pay", request_id=r)) for r in ("b", "b", "c")]
        assert [type(p) for p in pending] == [ConfirmationPending] * 3
        assert len({p.task_id for p in pending}) == 1
        assert probe.count == 1
        ax.confirm(pending[0].task_id, by="ann")
        assert ax.call("pay", request_id="b") == "second"
    assert probe.count == 2


def test_a_duplicate_that_a_person_decides_about_counts_against_the_budget(ax: AX) -> None:
    probe = Probe()
    probe.tool(ax, effect=Effect.UNSAFE, on_duplicate="confirm")
    with ax.run(budget=Budget(tasks=1)):
        ax.call("pay")
        with pytest.raises(BudgetExceeded):
            ax.call("pay")
    assert probe.count == 1
    with ax.run(budget=Budget(tasks=2)) as run:
        ax.call("pay")
        pending = outcome(lambda: ax.call("pay"))
        assert ax.tree(run.id).run.used_tasks == 2
        ax.reject(pending.task_id, by="ann")
        assert ax.tree(run.id).run.used_tasks == 1


def test_a_duplicate_may_be_meant(ax: AX) -> None:
    probe = Probe()
    probe.tool(ax, effect=Effect.UNSAFE, on_duplicate="run")
    with ax.run():
        ax.call("pay")
        ax.call("pay")
    assert probe.count == 2


def test_a_real_repeat_gives_its_reason_and_the_audit_keeps_it(ax: AX) -> None:
    probe = Probe()
    probe.tool(ax, effect=Effect.UNSAFE)
    with ax.run():
        ax.call("pay")
        ax.call("pay", repeat="the customer ordered twice")
        with ax.override(repeat="and a third time"):
            ax.call("pay")
        ax.call("pay")
    assert probe.count == 3
    reasons = [ax.audit(t.id)[0].detail.get("repeat") for t in ax.tasks().tasks]
    assert reasons == ["and a third time", "the customer ordered twice", None]


def test_a_repeat_on_purpose_still_stops_at_a_doubt(ax: AX) -> None:
    held = Held()
    probe = Probe(held)
    probe.tool(ax, effect=Effect.UNSAFE, timeout=LIMIT)
    with ax.run(), expiring(held):
        outcome(lambda: ax.call("pay"))
        with pytest.raises(OutcomeUnknown):
            ax.call("pay", repeat="surely it did not happen")
    assert probe.count == 1
    held.go.set()


def test_a_call_merges_into_an_open_one_and_waits_for_it(ax: AX) -> None:
    held = Held("paid")
    probe = Probe(held)
    probe.tool(ax, effect=Effect.UNSAFE, dedupe="session")
    with ax.run(session="s"):
        first = ax.submit("pay")
        held.wait_entered()
        second = ax.submit("pay")
        assert (second.merged_into, str(second)) == (first, first)
        held.go.set()
        assert ax.wait_for_result(second, timeout=10) == "paid"
    assert probe.count == 1


def test_what_was_merged_is_known_again_under_its_own_request(tmp_path: Path) -> None:
    path = tmp_path / "ax.db"
    with fresh(path=path) as ax:
        Probe("paid").tool(ax, effect=Effect.UNSAFE)
        with ax.run(key="turn"):
            ax.call("pay", request_id="a")
            ax.call("pay", request_id="b")
    with fresh(path=path) as ax:
        probe = Probe("again")
        probe.tool(ax, effect=Effect.UNSAFE)
        assert (ax.call("pay", request_id="b"), probe.count) == ("paid", 0)


def test_namespaces_share_no_key_no_request_and_no_result(ax: AX) -> None:
    probe = Probe("mine", "theirs")
    probe.tool(ax, effect=Effect.UNSAFE)
    other = ax.for_namespace("acme")
    assert ax.call("pay", request_id="r", key="k") == "mine"
    assert other.call("pay", request_id="r", key="k") == "theirs"
    assert len(other.tasks().tasks) == len(ax.tasks().tasks) == 1


def test_only_what_answers_for_a_repeat_binds(ax: AX) -> None:
    """Open, succeeded, in doubt: they bind. Failed, cancelled, rejected: they release."""
    probe = Probe()
    probe.tool(ax, effect=Effect.UNSAFE, confirm=True)
    with ax.run():
        first = outcome(lambda: ax.call("pay", request_id="a"))
        ax.reject(first.task_id, by="ann")
        second = outcome(lambda: ax.call("pay", request_id="b"))
        assert isinstance(second, ConfirmationPending)
        assert second.task_id != first.task_id
        ax.cancel(second.task_id, by="ann")
        third = outcome(lambda: ax.call("pay", request_id="c"))
        assert third.task_id not in (first.task_id, second.task_id)
        assert ax.get(third.task_id).state is State.CONFIRMING


def test_a_merged_call_waits_on_its_own_thread_and_others_go_on(ax: AX) -> None:
    held = Held("paid")
    Probe(held).tool(ax, effect=Effect.UNSAFE, dedupe="global", window=60)
    other = Probe()
    other.tool(ax, "other")
    first = Aside(lambda: ax.call("pay"))
    held.wait_entered()
    second = Aside(lambda: ax.call("pay"))
    assert ax.call("other") == "done"
    assert not second.ended
    held.go.set()
    assert first.result() == second.result() == "paid"
