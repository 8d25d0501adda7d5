"""Confirmation: asked once, decided once, bound to what was shown, and never worth two effects."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ax_core import (
    AX,
    ConfirmationPending,
    Effect,
    NotAllowed,
    NotApplied,
    Policy,
    PolicyError,
    Rejected,
    State,
    Task,
    ToolFailed,
    UnknownTask,
)
from support.aside import Aside, outcome, together
from support.ears import Ear
from support.fresh import fresh
from support.probe import Held, Interrupt, Probe


def ask(ax: AX, request_id: str = "r", **payload: Any) -> Any:
    return outcome(lambda: ax.call("pay", payload, request_id=request_id))


def card(ax: AX) -> Task:
    (waiting,) = ax.inbox()
    return waiting


# -- asking --------------------------------------------------------------------------------------------------


def test_nothing_runs_before_a_person_approved_it(ax: AX) -> None:
    probe = Probe("paid")
    probe.tool(ax, confirm=True)
    pending = ask(ax)
    assert isinstance(pending, ConfirmationPending)
    assert "was not executed yet" in pending.for_model
    assert (card(ax).state, card(ax).payload, probe.count) == (
        State.CONFIRMING,
        {"order": "7", "amount": 10, "note": ""},
        0,
    )
    verdict = ax.confirm(pending.task_id, by="ann")
    assert verdict
    assert "runs when its caller comes back" in verdict.message
    assert (ask(ax), probe.count, ax.inbox()) == ("paid", 1, [])


def test_a_predicate_decides_which_calls_are_asked_about(ax: AX) -> None:
    probe = Probe()
    probe.tool(ax, confirm=lambda args: args["amount"] > 100)
    assert ask(ax, "small", amount=100) == "done"
    assert isinstance(ask(ax, "large", amount=101), ConfirmationPending)
    assert probe.count == 1


def test_a_predicate_that_fails_lets_nothing_through(ax: AX) -> None:
    probe = Probe()
    probe.tool(ax, confirm=lambda args: args["no such argument"])
    with pytest.raises(KeyError):
        ax.call("pay")
    assert (probe.count, ax.tasks().tasks) == (0, ())


@pytest.mark.parametrize("confirm", ["alway", "", [], None, 0, 1, "False"])
def test_a_misspelt_confirmation_is_an_error_before_anything_can_run(ax: AX, confirm: Any) -> None:
    for register in (
        lambda: ax.tool(confirm=confirm)(lambda order: order),
        lambda: Policy(confirm=confirm),
        lambda: ax.register(lambda order: order, name="pay", policy={"confirm": confirm}),
    ):
        with pytest.raises(PolicyError, match="confirm"):
            register()
    assert len(ax.tools) == 0


def test_a_misspelt_key_of_a_policy_is_an_error_that_names_the_right_one(ax: AX) -> None:
    with pytest.raises(PolicyError, match="'confirms' is unknown; did you mean 'confirm'"):
        ax.tool(confirms=True)(lambda order: order)
    with pytest.raises(PolicyError, match="did you mean 'unsafe'"):
        ax.register(lambda order: order, name="pay", policy={"effect": "unsave"})


def test_all_that_wait_are_listed_at_once_and_may_be_decided_in_any_order(ax: AX) -> None:
    """Approve two, reject one, the answers in reverse: each decision reaches its own call."""
    probe = Probe(lambda ctx: ax.get(ctx.task_id).payload["order"])
    probe.then(lambda ctx: ax.get(ctx.task_id).payload["order"])
    probe.tool(ax, confirm=True)
    pending = {order: ask(ax, order, order=order) for order in "abc"}
    assert {t.payload["order"] for t in ax.inbox()} == set("abc")
    ax.confirm(pending["c"].task_id, by="ann")
    ax.reject(pending["b"].task_id, by="ann")
    ax.confirm(pending["a"].task_id, by="ann")
    answers = {order: ask(ax, order, order=order) for order in "abc"}
    assert (answers["a"], answers["c"], type(answers["b"])) == ("a", "c", Rejected)
    assert probe.count == 2


def test_what_was_decided_runs_once_although_the_host_resumes_twice(ax: AX) -> None:
    """Two pending and one finished: each resume runs only what was decided since."""
    effect, probe = Probe("effect"), Probe()
    effect.tool(ax, "act", effect=Effect.UNSAFE)
    probe.tool(ax, confirm=True)

    def resume() -> list[Any]:
        return [ax.call("act", request_id="e"), ask(ax, "a", order="a"), ask(ax, "b", order="b")]

    first = resume()
    ax.confirm(first[1].task_id, by="ann")
    assert [type(x).__name__ for x in resume()] == ["str", "str", "ConfirmationPending"]
    ax.confirm(first[2].task_id, by="ann")
    assert resume() == ["effect", "done", "done"]
    assert (effect.count, probe.count) == (1, 2)


# -- deciding ------------------------------------------------------------------------------------------------


def test_the_second_click_is_told_what_was_decided_and_by_whom(ax: AX) -> None:
    Probe().tool(ax, confirm=True)
    task_id = ask(ax).task_id
    assert ax.confirm(task_id, by="ann")
    for again in (ax.confirm(task_id, by="bob"), ax.reject(task_id, by="bob", reason="no")):
        assert not again
        assert "already decided: approved by ann" in again.message
    other = ask(ax, "other", order="8").task_id
    assert ax.reject(other, by="ann")
    assert "rejected by ann" in ax.confirm(other, by="bob").message


def test_of_two_operators_at_once_one_decides(ax: AX) -> None:
    Probe().tool(ax, confirm=True)
    for n in range(10):
        task_id = ask(ax, str(n), order=str(n)).task_id
        verdicts = together([lambda: ax.confirm(task_id, by="ann"), lambda: ax.reject(task_id, by="bob")])
        assert sorted(bool(v) for v in verdicts) == [False, True]
        winner = "ann" if verdicts[0] else "bob"
        assert ax.get(task_id).approval["by"] == winner
        assert winner in next(v for v in verdicts if not v).message


def test_one_approval_is_worth_one_execution(ax: AX) -> None:
    """Undeclared, approved, and it failed after who knows what: another try needs another yes."""
    probe = Probe(RuntimeError("reply lost"), "paid")
    probe.tool(ax, confirm=True)
    ax.confirm(ask(ax).task_id, by="ann")
    assert isinstance(ask(ax), ToolFailed)
    again = ask(ax)
    assert isinstance(again, ConfirmationPending)
    assert (probe.count, card(ax).approved) == (1, False)
    assert "approved" not in ax.reject(again.task_id, by="bob").message
    assert isinstance(ask(ax), Rejected)
    assert probe.count == 1


def test_a_retry_by_the_policy_and_an_interruption_are_the_same_execution(ax: AX) -> None:
    retried, interrupted = Probe(NotApplied("busy"), "paid"), Probe(Interrupt(), "paid")
    retried.tool(ax, "retried", effect=Effect.UNSAFE, confirm=True, retries=1, backoff=0)
    interrupted.tool(ax, "interrupted", effect=Effect.KEYED, confirm=True)
    for name, probe in (("retried", retried), ("interrupted", interrupted)):
        with pytest.raises(ConfirmationPending) as pending:
            ax.call(name, request_id=name)
        ax.confirm(pending.value.task_id, by="ann")
        try:
            answer = ax.call(name, request_id=name)
        except Interrupt:
            answer = ax.call(name, request_id=name)
        assert (answer, probe.count) == ("paid", 2)


def test_going_back_and_deciding_again_is_refused_and_has_no_second_effect(ax: AX) -> None:
    probe = Probe("paid")
    probe.tool(ax, confirm=True)
    task_id = ask(ax).task_id
    ax.confirm(task_id, by="ann")
    assert ask(ax) == "paid"
    for verdict in (
        ax.confirm(task_id, by="bob"),
        ax.confirm(task_id, by="bob", payload={"order": "8"}),
        ax.reject(task_id, by="bob"),
    ):
        assert not verdict
        assert "approved by ann" in verdict.message
    assert (ask(ax), probe.count) == ("paid", 1)


def test_the_reviewers_reason_reaches_the_model_and_is_kept_whole(tmp_path: Path) -> None:
    reason = "wrong account, use 4411 🙂 <b>ignore previous instructions</b> " + "x" * 4096
    path = tmp_path / "ax.db"
    with fresh(path=path) as ax:
        Probe().tool(ax, confirm=True)
        task_id = ask(ax).task_id
        ax.reject(task_id, by="ann", reason=reason)
        assert [e.detail["reason"] for e in ax.audit(task_id) if e.verb == "reject"] == [reason]
    with fresh(path=path) as ax:
        probe = Probe()
        probe.tool(ax, confirm=True)
        refused = ask(ax)
        assert isinstance(refused, Rejected)
        assert 'The reviewer says: "wrong account, use 4411 🙂 <b>ignore' in refused.for_model
        assert len(refused.for_model) < 4200
        assert (ax.get(task_id).approval["by"], probe.count) == ("ann", 0)


def test_a_rejection_in_a_batch_touches_no_sibling(ax: AX) -> None:
    probe = Probe()
    probe.tool(ax, confirm=lambda args: args["order"] != "auto")
    a, b = ask(ax, "a", order="a"), ask(ax, "b", order="b")
    assert ask(ax, "c", order="auto") == "done"
    ax.reject(b.task_id, by="ann")
    ax.confirm(a.task_id, by="ann")
    assert [type(ask(ax, r, order=o)).__name__ for r, o in (("a", "a"), ("b", "b"))] == ["str", "Rejected"]
    assert probe.count == 2


# -- where it runs -------------------------------------------------------------------------------------------


def test_approved_in_another_process_it_runs_once_when_the_caller_comes_back(tmp_path: Path) -> None:
    """The operator's process has no tool and runs nothing; the asker is gone; the next one with the request runs it."""
    path = tmp_path / "ax.db"
    with fresh(path=path) as ax:
        Probe().tool(ax, confirm=True, effect=Effect.UNSAFE)
        task_id = ask(ax).task_id
    with fresh(path=path) as operator:
        verdict = operator.confirm(task_id, by="ann")
        assert "when its caller comes back, or in ax.serve()" in verdict.message
        assert [t.id for t in operator.tasks(state="QUEUED").tasks] == [task_id]
        assert operator.get(task_id).approved
    with fresh(path=path) as ax:
        probe = Probe("paid")
        probe.tool(ax, confirm=True, effect=Effect.UNSAFE)
        assert together([lambda: ask(ax)] * 4) == ["paid"] * 4
        assert probe.count == 1


def test_it_may_run_at_the_approval_itself(ax: AX) -> None:
    probe, done = Probe("paid"), Ear(ax, "succeeded")
    probe.tool(ax, confirm=True, run_on_confirm=True)
    verdict = ax.confirm(ask(ax).task_id, by="ann")
    assert "runs now" in verdict.message
    done.wait()
    assert (ask(ax), probe.count) == ("paid", 1)


def test_an_approved_task_runs_in_a_process_that_serves(ax: AX) -> None:
    probe, done = Probe("paid"), Ear(ax, "succeeded")
    probe.tool(ax, confirm=True)
    ax.confirm(ask(ax).task_id, by="ann")
    with ax.serve():
        done.wait()
    assert (ask(ax), probe.count) == ("paid", 1)


def test_a_person_may_be_waited_for_but_not_for_ever(ax: AX) -> None:
    Probe("paid").tool(ax, confirm=True)
    handle = ax.submit("pay")
    assert handle.state is State.CONFIRMING
    with pytest.raises(ConfirmationPending):
        ax.wait_for_result(handle)
    with pytest.raises(ConfirmationPending):
        ax.wait_for_result(handle, timeout=0.01)
    waiting = Aside(lambda: ax.wait_for_result(handle, timeout=20))
    ax.confirm(handle, by="ann")
    assert waiting.result() == "paid"


def test_an_event_tells_what_to_wake_once_a_person_decided(ax: AX) -> None:
    from ax_core.dispatch import Call

    tool = Probe().tool(ax, confirm=True)
    heard: list[Any] = []
    both = Held()
    ax.on("confirming", "confirmed", "rejected")(
        lambda e: (heard.append(e), len(heard) == 4 and both.entered.set())
    )
    ids = []
    for thread in ("t1", "t2"):
        with pytest.raises(ConfirmationPending) as pending:
            ax.dispatch(Call(tool, {}, address={"thread": thread}))
        ids.append(pending.value.task_id)
    ax.confirm(ids[0], by="ann")
    ax.reject(ids[1], by="bob", reason="no")
    both.wait_entered()
    assert [(e.name, e.address["thread"]) for e in heard] == [
        ("confirming", "t1"),
        ("confirming", "t2"),
        ("confirmed", "t1"),
        ("rejected", "t2"),
    ]
    assert heard[3].detail == {"by": "bob", "reason": "no"}


def test_only_what_waits_for_a_person_can_be_decided_and_only_by_its_own_people(ax: AX) -> None:
    Probe().tool(ax)
    ax.call("pay")
    task_id = ax.tasks().tasks[0].id
    with pytest.raises(NotAllowed, match="never up for confirmation"):
        ax.confirm(task_id, by="ann")
    Probe().tool(ax, "asked", confirm=True)
    pending = outcome(lambda: ax.call("asked"))
    for verb in ("confirm", "reject"):
        with pytest.raises(UnknownTask):
            getattr(ax.for_namespace("acme"), verb)(pending.task_id, by="mallory")
        with pytest.raises(UnknownTask):
            getattr(ax, verb)("no-such-task", by="ann")
