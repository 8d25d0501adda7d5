"""The founding story: what may have happened, or waits for a person, stands in the way of an equal call."""

from __future__ import annotations

import pytest

from ax_core import AX, ConfirmationPending, Effect, OutcomeUnknown, Rejected, State, StillRunning, ToolFailed
from ax_core.dispatch import Call
from support.aside import Aside, outcome
from support.ears import Ear, late
from support.expiry import LIMIT, expiring
from support.fresh import beat, fresh, tick
from support.probe import Held, Probe
from support.skew import Skew


def refund(ax: AX, request_id: str, order: str = "7") -> object:
    return outcome(lambda: ax.call("pay", {"order": order}, request_id=request_id))


@pytest.mark.parametrize("effect", [Effect.UNDECLARED, Effect.UNSAFE])
def test_a_refund_whose_reply_was_lost_and_that_the_model_issues_again_happens_once(
    ax: AX, effect: Effect
) -> None:
    held = Held("refunded")
    probe = Probe(held)
    probe.tool(ax, effect=effect, timeout=LIMIT, retries=2)
    with ax.run(session="user-42") as run:
        with expiring(held):
            first = refund(ax, "call-1")
        again = [refund(ax, request_id) for request_id in ("call-2", "call-3", "call-2")]
        for answer in (first, *again):
            assert isinstance(answer, OutcomeUnknown)
            assert not answer.safe_to_repeat
            assert "Do not repeat it" in answer.for_model
        assert {a.task_id for a in again} == {first.task_id}
        assert (probe.count, len(ax.tree(run.id).tasks)) == (1, 1)
        settled = late(ax)
        held.go.set()
        settled.wait()
        assert refund(ax, "call-2") == "refunded"
    assert probe.count == 1


def test_it_stands_in_the_way_across_the_runs_of_its_session_and_not_beyond(ax: AX) -> None:
    held = Held()
    probe = Probe(held)
    probe.tool(ax, timeout=LIMIT)
    with ax.run(session="a"), expiring(held):
        refund(ax, "1")
    with ax.run(session="a"):
        assert isinstance(refund(ax, "2"), OutcomeUnknown)
    with ax.run(session="b"):
        assert refund(ax, "3") == "done"
    assert probe.count == 2
    held.go.set()


def test_it_stands_in_the_way_of_equal_arguments_only(ax: AX) -> None:
    held = Held()
    probe = Probe(held)
    probe.tool(ax, timeout=LIMIT)
    with ax.run():
        with expiring(held):
            refund(ax, "1")
        assert refund(ax, "2", order="8") == "done"
    held.go.set()


def test_it_stands_in_the_way_whatever_the_call_says_about_duplicates(ax: AX) -> None:
    held = Held()
    probe = Probe(held)
    probe.tool(ax, timeout=LIMIT, on_duplicate="run")
    with ax.run(session="s"):
        with expiring(held):
            refund(ax, "1")
        for words in ({"dedupe": "call"}, {"repeat": "I insist"}, {"key": "mine"}):
            assert isinstance(outcome(lambda words=words: ax.call("pay", **words)), OutcomeUnknown)
    assert probe.count == 1
    held.go.set()


def test_what_waits_for_a_person_never_becomes_a_second_card(ax: AX) -> None:
    probe = Probe("refunded")
    probe.tool(ax, confirm=True)
    with ax.run(session="s"):
        answers = [refund(ax, r) for r in ("1", "2", "3")]
        assert [type(a) for a in answers] == [ConfirmationPending] * 3
        assert len({a.task_id for a in answers}) == len(ax.inbox()) == 1
        ax.confirm(answers[0].task_id, by="ann")
        assert refund(ax, "2") == "refunded"  # whoever comes back first runs it
        assert refund(ax, "1") == "refunded"
    assert probe.count == 1


def test_the_second_asker_is_told_what_the_person_said(ax: AX) -> None:
    Probe().tool(ax, confirm=True)
    with ax.run(session="s"):
        pending = refund(ax, "1")
        refund(ax, "2")
        ax.reject(pending.task_id, by="ann", reason="too much")
        for request in ("1", "2"):
            answer = refund(ax, request)
            assert isinstance(answer, Rejected)
            assert "too much" in answer.for_model


def test_what_was_approved_and_has_not_run_yet_stands_in_the_way_too(ax: AX) -> None:
    probe = Probe("refunded")
    probe.tool(ax, confirm=True)
    with ax.run(session="s"):
        pending = refund(ax, "1")
        ax.confirm(pending.task_id, by="ann")
        assert refund(ax, "new") == "refunded"
        assert refund(ax, "1") == "refunded"
    assert (probe.count, len(ax.tasks().tasks)) == (1, 1)


def test_an_overdue_call_holds_an_equal_one_back_and_an_alert_is_raised(ax: AX, clock: Skew) -> None:
    held, alert = Held("refunded"), Ear(ax, "alert", kind="overdue")
    probe = Probe(held)
    probe.tool(ax)
    with ax.run(session="s"):
        first = ax.submit("pay", {"order": "7"})
        held.wait_entered()
        parallel = Held("another")
        probe.then(parallel)
        ax.submit("pay", {"order": "7"})  # not overdue yet: two undeclared calls are two calls
        parallel.wait_entered()
        parallel.go.set()
        clock.ahead(30)
        tick(ax)
        attached = ax.submit("pay", {"order": "7"})
        assert (attached.merged_into, probe.count) == (first, 2)
        assert ax.get(first).overdue
        assert alert.wait().task_id == first
        held.go.set()
        assert ax.wait_for_result(attached, timeout=10) == "refunded"
    assert probe.count == 2


def test_a_lost_call_is_found_out_by_the_very_call_that_would_repeat_it(ax: AX, clock: Skew) -> None:
    """Nobody has swept yet: the lease just ran out, and the model is faster."""
    held = Held("zombie")
    probe = Probe(held)
    probe.tool(ax)
    with ax.run(session="s", key="t"):
        ax.submit("pay", {"order": "7"}, request_id="1")
        held.wait_entered()
    clock.ahead(31)
    with ax.run(session="s"):
        assert isinstance(refund(ax, "2"), OutcomeUnknown)
    assert probe.count == 1
    held.go.set()


def test_a_resubmission_of_a_failed_request_is_held_back_as_any_other_call(ax: AX) -> None:
    """1 failed; 2, its equal, is in doubt: a host that retries 1 must not act while nobody knows about 2."""
    held = Held()
    probe = Probe(RuntimeError("no"), held)
    probe.tool(ax, timeout=LIMIT)
    with ax.run(session="s"):
        assert isinstance(refund(ax, "1"), ToolFailed)
        with expiring(held):
            assert isinstance(refund(ax, "2"), OutcomeUnknown)
        assert isinstance(refund(ax, "1"), OutcomeUnknown)
    assert probe.count == 2
    held.go.set()


def test_a_read_is_never_in_the_way(ax: AX) -> None:
    held = Held()
    probe = Probe(held)
    probe.tool(ax, effect=Effect.READ, confirm=False, timeout=LIMIT)
    with ax.run(session="s"):
        with expiring(held):
            refund(ax, "1")
        assert refund(ax, "2") == "done"
    held.go.set()


def test_a_read_heavy_run_with_undeclared_tools_that_is_interrupted_goes_on_by_itself(
    clock: Skew, tmp_path: object
) -> None:
    """Killed in the middle of a search: the model is told one sentence about that call, and the run goes on."""
    path = tmp_path / "ax.db"
    held = Held("zombie")

    def turn(ax: AX, pages: list[str]) -> list[object]:
        with ax.run(session="s", key="turn-1"):
            return [outcome(lambda p=p: ax.call("search", {"order": p}, request_id=p)) for p in pages]

    with fresh(clock, path) as ax:
        probe = Probe("one", "two", held)
        probe.tool(ax, "search")
        dying = Aside(lambda: turn(ax, ["1", "2", "3"]))
        held.wait_entered()
        clock.ahead(31)
        with fresh(clock, path) as next_process:
            probe.then("again", "four", "five")
            probe.tool(next_process, "search")
            beat(next_process)
            answers = turn(next_process, ["1", "2", "3", "4", "5"])
            assert answers[:2] == ["one", "two"]
            assert isinstance(answers[2], OutcomeUnknown)
            assert len(answers[2].for_model) < 300
            assert answers[3:] == ["again", "four"]
            assert probe.count == 5
        held.go.set()
        dying.result()


def test_the_model_that_asks_again_is_told_and_the_answer_says_how_it_was_found(ax: AX) -> None:
    held = Held()
    tool = Probe(held).tool(ax, timeout=LIMIT)
    with ax.run(session="s"):
        with expiring(held):
            refund(ax, "1")
        task = ax.tasks().tasks[0]
        ax.resolve(task.id, happened=True, result="seen in the ledger", by="ann")
        assert ax.dispatch(Call(tool, {"order": "7"}, request_id="1")).how == "replayed"
    entries = [e.verb for e in ax.audit(task.id)]
    assert entries == ["claim", "timeout", "resolve", "replayed"]
    held.go.set()


def test_nobody_waits_forever_behind_a_paused_tool(ax: AX) -> None:
    probe = Probe()
    probe.tool(ax)
    ax.pause("pay", by="ops")
    with ax.run(session="s"):
        answer = refund(ax, "1")
        assert isinstance(answer, StillRunning)
        assert "paused" in str(answer)
        assert ax.tasks().tasks[0].state is State.QUEUED
        ax.resume("pay", by="ops")
        assert refund(ax, "1") == "done"
