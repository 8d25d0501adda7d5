"""The repeat guard: a model that goes round in circles is told, and then its run is over."""

from __future__ import annotations

from pathlib import Path

import pytest

from ax_core import AX, Budget, BudgetExceeded, Effect, InvalidArguments, RunState, TaskDead
from ax_core.dispatch import Answer, Call
from support.aside import outcome
from support.fresh import fresh
from support.probe import Probe

UNLIMITED = Budget(tasks=None)


def calls(ax: AX, tool: object, times: int, payload: object = None, **more: object) -> list[Answer]:
    return [ax.dispatch(Call(tool, payload or {}, **more)) for _ in range(times)]


def told(answers: list[Answer]) -> list[int]:
    """The numbers of the calls, from 1, whose model was told that it repeats itself."""
    return [n for n, a in enumerate(answers, 1) if a.note is not None and "same answer" in a.note]


@pytest.mark.parametrize(
    "effect,told_at", [(Effect.UNDECLARED, 5), (Effect.IDEMPOTENT, 5), (Effect.READ, 20)]
)
def test_the_model_is_told_at_the_limit_and_the_run_ends_at_twice_that(
    ax: AX, effect: Effect, told_at: int
) -> None:
    tool = Probe().tool(ax, effect=effect)
    with ax.run(budget=UNLIMITED) as run:
        answers = calls(ax, tool, 2 * told_at - 1)
        assert told(answers) == list(range(told_at, 2 * told_at))
        assert f"{told_at} times" in answers[told_at - 1].note
        with pytest.raises(BudgetExceeded) as over:
            calls(ax, tool, 1)
        assert "answer with what you have" in over.value.for_model
        with pytest.raises(TaskDead):
            ax.call("pay", {"order": "anything else"})
    assert (ax.tree(run.id).run.state, ax.tree(run.id).run.reason) == (RunState.DEAD, "repeat_guard")


def test_a_long_honest_chain_is_left_alone(ax: AX) -> None:
    tool = Probe().tool(ax)
    with ax.run(budget=UNLIMITED):
        answers = [ax.dispatch(Call(tool, {"order": str(n)})) for n in range(60)]
    assert told(answers) == []


def test_another_result_is_progress(ax: AX) -> None:
    tool = Probe(*[f"{n} %" for n in range(30)]).tool(ax)
    with ax.run(budget=UNLIMITED):
        assert told(calls(ax, tool, 30)) == []


def test_a_write_that_succeeded_is_progress(ax: AX) -> None:
    read, write = Probe().tool(ax, "read", Effect.READ), Probe().tool(ax, "write", Effect.UNSAFE)
    with ax.run(budget=UNLIMITED):
        assert told(calls(ax, read, 19)) == []
        ax.dispatch(Call(write, {"order": "1"}))
        assert told(calls(ax, read, 19)) == []


def test_going_round_in_a_circle_of_writes_is_no_progress(ax: AX) -> None:
    """A, B, C with the same arguments and the same answers, over and over: the second round is news to nobody."""
    tools = [Probe().tool(ax, name) for name in "abc"]
    rounds = 0
    with ax.run(budget=UNLIMITED) as run:
        while not isinstance(outcome(lambda: [calls(ax, tool, 1) for tool in tools]), BudgetExceeded):
            rounds += 1
            assert rounds < 20
    assert ax.tree(run.id).run.reason == "repeat_guard"


def test_a_pollable_tool_may_be_asked_over_and_over(ax: AX) -> None:
    tool = Probe().tool(ax, effect=Effect.READ, pollable=True)
    with ax.run(budget=UNLIMITED):
        assert told(calls(ax, tool, 45)) == []


def test_calls_that_do_not_fit_are_counted_like_any_other(ax: AX) -> None:
    """The model takes a wrong name for a system fault and sends it nine times."""
    probe = Probe()
    probe.tool(ax)
    with ax.run(budget=UNLIMITED) as run:
        refusals = [outcome(lambda: ax.call("pay", {"ordre": "7"})) for _ in range(12)]
    assert [type(r) for r in refusals[:9]] == [InvalidArguments] * 9
    assert "same answer" not in refusals[3].for_model
    assert all("same answer" in r.for_model for r in refusals[4:9])
    assert isinstance(refusals[9], BudgetExceeded)
    assert [type(r) for r in refusals[10:]] == [TaskDead] * 2
    assert "/" not in refusals[0].for_model.replace("and/or", "")
    assert "order" in refusals[0].for_model
    assert (probe.count, len(ax.tree(run.id).tasks)) == (0, 10)


def test_what_was_counted_survives_a_restart(tmp_path: Path) -> None:
    for start in range(4):
        with fresh(path=tmp_path / "ax.db") as ax:
            tool = Probe().tool(ax)
            with ax.run(key="turn", budget=UNLIMITED):
                answers = calls(ax, tool, 2)
        assert bool(told(answers)) is (start >= 2)


def test_the_same_refusal_of_a_merge_is_a_repetition_too(ax: AX) -> None:
    """A write that is answered from its first execution: told at the limit of a write, ended at twice that."""
    probe = Probe("refunded")
    tool = probe.tool(ax, effect=Effect.UNSAFE)
    with ax.run(budget=UNLIMITED) as run:
        answers = calls(ax, tool, 9)
        assert told(answers) == [5, 6, 7, 8, 9]
        with pytest.raises(BudgetExceeded):
            calls(ax, tool, 1)
    assert (probe.count, ax.tree(run.id).run.reason) == (1, "repeat_guard")


def test_the_run_that_repeats_itself_ends_and_not_the_one_whose_result_it_asks_for(ax: AX) -> None:
    tool = Probe("refunded").tool(ax, effect=Effect.UNSAFE, dedupe="session")
    with ax.run(session="s", budget=UNLIMITED) as first:
        calls(ax, tool, 1)
    with ax.run(session="s", budget=UNLIMITED) as second, pytest.raises(BudgetExceeded):
        calls(ax, tool, 10)
    assert ax.tree(first.id).run.state is RunState.DONE
    assert (ax.tree(second.id).run.state, ax.tree(second.id).run.reason) == (RunState.DEAD, "repeat_guard")


def test_a_call_that_is_replayed_for_ever_costs_no_row_and_ends(ax: AX) -> None:
    """One call id 2,500 times: one execution, cheap answers, an end, and an audit that did not grow with it."""
    probe = Probe()
    probe.tool(ax, effect=Effect.UNSAFE)
    with ax.run(budget=UNLIMITED):
        answers = [outcome(lambda: ax.call("pay", request_id="r")) for _ in range(2500)]
    (task,) = ax.tasks().tasks
    refused = [type(a) for a in answers].index(BudgetExceeded)
    assert (probe.count, refused, answers[:refused]) == (1, 199, ["done"] * 199)
    assert task.replays == 2499
    assert len(ax.audit(task.id)) <= 3


def test_a_host_that_comes_back_with_its_request_is_no_model_that_repeats_itself(ax: AX) -> None:
    """Sixty-four callers of one request and then one real repetition: nobody is told anything but the result."""
    tool = Probe("refunded").tool(ax, effect=Effect.UNSAFE)
    with ax.run(budget=UNLIMITED):
        answers = calls(ax, tool, 64, request_id="r") + calls(ax, tool, 1, request_id="s")
    assert {a.get() for a in answers} == {"refunded"}
    assert told(answers) == []


def test_callers_of_one_key_outside_a_run_are_no_loop(ax: AX) -> None:
    tool = Probe("refunded").tool(ax)
    assert {a.get() for a in calls(ax, tool, 50, key="k")} == {"refunded"}


def test_a_run_that_ended_may_be_extended_by_a_person(ax: AX) -> None:
    tool = Probe().tool(ax)
    with ax.run(key="turn", budget=Budget(tasks=20)) as run:
        outcome(lambda: calls(ax, tool, 10))
    assert ax.extend(run.id, tasks=5, by="ops")
    with ax.run(key="turn"):
        assert ax.call("pay", {"order": "8"}) == "done"


def test_paging_reading_again_after_a_write_and_two_customers_are_no_repetition(ax: AX) -> None:
    page, read = Probe(*"abcdefgh"), Probe("v1", "v2")
    page.tool(ax, "page", Effect.READ)
    read.tool(ax, "read", Effect.READ)
    write, order = Probe(), Probe()
    write.tool(ax, "write", Effect.UNSAFE)
    order.tool(ax, "order", Effect.UNSAFE, key=("order", "amount"))
    with ax.run(session="s"):
        assert [ax.call("page", {"amount": n}) for n in (0, 50)] == ["a", "b"]
        assert ax.call("read") == "v1"
        ax.call("write")
        assert ax.call("read") == "v2"  # a read is never answered from before the write
        for customer in ("ann", "bob"):
            ax.call("order", {"order": customer, "amount": 1})
    assert order.count == 2
