"""Budgets: reserved before anything runs, over the whole tree, and never overshot."""

from __future__ import annotations

import asyncio
import contextvars
import itertools
from pathlib import Path
from typing import Any

import pytest

from ax_core import (
    AX,
    Budget,
    BudgetExceeded,
    Effect,
    InvalidArguments,
    NotApplied,
    RunState,
    State,
    StillRunning,
    TaskDead,
    TaskTimeout,
    ToolFailed,
)
from ax_core.model import Run
from support.aside import outcome, together
from support.fresh import beat, fresh
from support.probe import Held, Probe
from support.skew import Skew


def run_of(ax: AX, run_id: str) -> Run:
    return ax.tree(run_id).run


def in_context(fn: Any) -> Any:
    """The call as another thread makes it that carries the run along."""
    context = contextvars.copy_context()
    return lambda: context.run(fn)


def test_of_a_hundred_parallel_calls_exactly_ten_run(ax: AX) -> None:
    probe = Probe()
    probe.tool(ax)
    with ax.run(budget=Budget(tasks=10)) as run:
        numbers = itertools.count()
        batch = [in_context(batch_of_ten(ax, numbers)) for _ in range(10)]
        answers = [answer for ten in together(batch) for answer in ten]
    assert (probe.count, sum(isinstance(a, BudgetExceeded) for a in answers)) == (10, 90)
    assert run_of(ax, run.id).used_tasks == 10


def batch_of_ten(ax: AX, numbers: Any) -> Any:
    return lambda: [outcome(lambda: ax.call("pay", {"amount": next(numbers)})) for _ in range(10)]


async def test_of_a_hundred_coroutines_exactly_ten_run(ax: AX) -> None:
    probe = Probe()

    async def body() -> str:
        await asyncio.sleep(0)
        return "done"

    probe.async_tool(ax, body)
    async with ax.run(budget=Budget(tasks=10)):
        calls = [ax.acall("pay", {"amount": n}) for n in range(100)]
        answers = await asyncio.gather(*calls, return_exceptions=True)
    assert (probe.count, [type(a) for a in answers].count(BudgetExceeded)) == (10, 90)


def test_two_processes_in_one_run_share_its_budget(tmp_path: Path) -> None:
    path, probe = tmp_path / "ax.db", Probe()
    with fresh(path=path) as one, fresh(path=path) as two:
        for ax in (one, two):
            probe.tool(ax)

        def chain(ax: AX, first: int) -> list[Any]:
            with ax.run(key="turn", budget=Budget(tasks=10)):
                return [outcome(lambda n=n: ax.call("pay", {"amount": n})) for n in range(first, first + 20)]

        with one.run(key="turn", budget=Budget(tasks=10)) as run:
            together([lambda: chain(one, 100), lambda: chain(two, 200)])
        assert probe.count == run_of(one, run.id).used_tasks <= 10


def test_of_four_parallel_calls_with_one_left_exactly_one_runs_and_three_are_told(ax: AX) -> None:
    probe = Probe()
    probe.tool(ax)
    with ax.run(budget=Budget(tasks=6)) as run:
        for n in range(5):
            ax.call("pay", {"amount": n})
        answers = together([in_context(lambda n=n: ax.call("pay", {"amount": n})) for n in range(90, 94)])
    refused = [a for a in answers if isinstance(a, BudgetExceeded)]
    assert (len(refused), probe.count) == (3, 6)
    assert all("Nothing" in r.for_model or "nothing was done" in r.for_model for r in refused)
    assert (run_of(ax, run.id).state, run_of(ax, run.id).reason) == (RunState.DEAD, "budget")


async def test_of_four_parallel_coroutines_with_one_left_the_first_runs() -> None:
    with fresh() as ax:
        ran: list[int] = []

        async def act(n: int) -> int:
            ran.append(n)
            return n

        ax.register(act)
        async with ax.run(budget=Budget(tasks=6)):
            for n in range(5):
                await ax.acall("act", {"n": n})
            calls = [ax.acall("act", {"n": n}) for n in range(90, 94)]
            answers = await asyncio.gather(*calls, return_exceptions=True)
        assert answers[0] == 90
        assert [type(a) for a in answers[1:]] == [BudgetExceeded] * 3
        assert ran == [*range(5), 90]


def test_retries_count_and_the_budget_ends_between_two_of_them(ax: AX) -> None:
    """A tool that always fails, in a run of three: it stops there, resumable, and goes on from there when extended."""
    probe = Probe(*[RuntimeError("down")] * 4)
    probe.tool(ax, effect=Effect.KEYED, retries=9, backoff=0)
    with ax.run(key="turn", budget=Budget(tasks=3)) as run:
        with pytest.raises(BudgetExceeded, match="ax.extend"):
            ax.call("pay", request_id="r")
        assert probe.count == 3
    (task,) = ax.tasks().tasks
    assert (task.state, task.attempts) == (State.RETRY_WAIT, 3)
    assert (run_of(ax, run.id).state, run_of(ax, run.id).reason) == (RunState.DEAD, "budget")
    with pytest.raises(TaskDead, match="extend"), ax.run(key="turn"):
        pass
    assert ax.extend(run.id, tasks=2, by="ops")
    with ax.run(key="turn"):
        assert ax.call("pay", request_id="r") == "done"
    assert (probe.count, ax.get(task.id).attempts, len(probe.keys)) == (5, 5, 1)
    assert run_of(ax, run.id).state is RunState.DONE


def test_a_new_attempt_of_a_resubmission_counts_too(ax: AX) -> None:
    probe = Probe(NotApplied("no"), NotApplied("no"))
    probe.tool(ax)
    with ax.run(budget=Budget(tasks=2)):
        for _ in range(2):
            with pytest.raises(ToolFailed):
                ax.call("pay", request_id="r")
        with pytest.raises(BudgetExceeded):
            ax.call("pay", request_id="r")
    assert probe.count == 2


def test_answers_from_the_record_cost_nothing(ax: AX) -> None:
    probe = Probe()
    probe.tool(ax, effect=Effect.UNSAFE)
    with ax.run(budget=Budget(tasks=1)) as run:
        for request in ("a", "a", "b", "b"):
            assert ax.call("pay", request_id=request) == "done"
    assert (probe.count, run_of(ax, run.id).used_tasks, run_of(ax, run.id).state) == (1, 1, RunState.DONE)


@pytest.mark.parametrize("how", ["reject", "cancel", "expire"])
def test_what_never_ran_is_given_back(ax: AX, clock: Skew, how: str) -> None:
    asked, free = Probe(), Probe()
    asked.tool(ax, "asked", confirm=True, confirm_ttl=60)
    free.tool(ax, "free")
    with ax.run(budget=Budget(tasks=1)) as run:
        pending = outcome(lambda: ax.call("asked"))
        assert run_of(ax, run.id).used_tasks == 1
        if how == "expire":
            clock.ahead(61)
            beat(ax)
        else:
            getattr(ax, how)(pending.task_id, by="ann")
        assert run_of(ax, run.id).used_tasks == 0
        assert ax.call("free") == "done"
    assert (asked.count, free.count) == (0, 1)


def test_an_approval_does_not_reserve_twice(ax: AX) -> None:
    Probe().tool(ax, confirm=True)
    with ax.run(budget=Budget(tasks=1)) as run:
        pending = outcome(lambda: ax.call("pay", request_id="r"))
        ax.confirm(pending.task_id, by="ann")
        assert ax.call("pay", request_id="r") == "done"
    assert run_of(ax, run.id).used_tasks == 1


def test_invalid_submissions_have_a_cap_of_their_own_and_leave_no_rows_after_it(ax: AX) -> None:
    """A model that sends nonsense for ever: four times the budget, then the run is over and nothing more is kept."""
    probe = Probe()
    probe.tool(ax)
    with ax.run(budget=Budget(tasks=2)) as run:
        answers = [outcome(lambda n=n: ax.call("pay", {f"wrong{n}": n})) for n in range(50)]
    kinds = [type(a) for a in answers]
    assert kinds[:8] == [InvalidArguments] * 8
    assert set(kinds[8:]) <= {BudgetExceeded, TaskDead}
    assert run_of(ax, run.id).state is RunState.DEAD
    assert len(ax.tree(run.id).tasks) <= 9
    assert (probe.count, run_of(ax, run.id).used_tasks) == (0, 0)


def test_refused_calls_cost_no_effect_and_no_row(ax: AX) -> None:
    """A model that is forced to use tools ignores the refusals: seventy-eight calls, thirty-two effects."""
    probe = Probe()
    probe.tool(ax)
    with ax.run(budget=Budget(tasks=32)) as run:
        answers = [outcome(lambda n=n: ax.call("pay", {"amount": n})) for n in range(78)]
    assert (probe.count, len(ax.tree(run.id).tasks)) == (32, 32)
    assert [type(a) for a in answers[32:]] == [BudgetExceeded] * 46
    assert all("Do not call tools again" in a.for_model for a in answers[32:])


def test_zero_is_nothing_and_none_is_no_limit(ax: AX) -> None:
    probe = Probe()
    probe.tool(ax)
    for nothing in (Budget(tasks=0), Budget(seconds=0), Budget(tasks=0, seconds=0)):
        with ax.run(budget=nothing), pytest.raises(BudgetExceeded):
            ax.call("pay")
    assert probe.count == 0
    with ax.run(budget=Budget(tasks=None)) as run:
        for n in range(60):
            ax.call("pay", {"amount": n})
    assert (run_of(ax, run.id).max_tasks, run_of(ax, run.id).used_tasks) == (None, 60)


def test_zero_is_nothing_for_timeouts_and_waits_too(ax: AX) -> None:
    probe = Probe()
    probe.tool(ax)
    for zero in (0, 0.0):
        with pytest.raises(TaskTimeout):
            ax.call("pay", timeout=zero)
    assert probe.count == 0
    held = Held()
    probe.then(held)
    handle = ax.submit("pay")
    held.wait_entered()
    with pytest.raises(StillRunning):
        ax.wait_for_result(handle, timeout=0)
    held.go.set()
    assert ax.wait_for_result(handle, timeout=10) == "done"


def test_the_default_is_fifty_for_a_run_and_none_for_a_bare_call(ax: AX) -> None:
    probe = Probe()
    probe.tool(ax)
    with ax.run() as run:
        answers = [outcome(lambda n=n: ax.call("pay", {"amount": n})) for n in range(51)]
    assert (run_of(ax, run.id).max_tasks, type(answers[50]), probe.count) == (50, BudgetExceeded, 50)
    ax.call("pay")
    assert run_of(ax, ax.tasks().tasks[0].run_id).max_tasks is None


def test_the_budget_of_a_run_counts_every_run_under_it(ax: AX) -> None:
    probe = Probe()
    probe.tool(ax)
    with ax.run(budget=Budget(tasks=3)) as outer:
        ax.call("pay", {"amount": 1})
        with ax.run(budget=Budget(tasks=10)) as inner:
            for n in (2, 3):
                ax.call("pay", {"amount": n})
            with pytest.raises(BudgetExceeded, match=outer.id):
                ax.call("pay", {"amount": 4})
    assert probe.count == 3
    assert (run_of(ax, outer.id).used_tasks, run_of(ax, inner.id).used_tasks) == (3, 2)


def test_a_refusal_by_the_inner_run_takes_nothing_from_the_outer_one(ax: AX) -> None:
    probe = Probe()
    probe.tool(ax)
    with ax.run(budget=Budget(tasks=3)) as outer:
        with ax.run(budget=Budget(tasks=1)):
            ax.call("pay", {"amount": 1})
            for n in range(2, 5):
                with pytest.raises(BudgetExceeded):
                    ax.call("pay", {"amount": n})
        assert run_of(ax, outer.id).used_tasks == 1
        ax.call("pay", {"amount": 9})
    assert (probe.count, run_of(ax, outer.id).state) == (2, RunState.DONE)


def test_calls_that_tools_make_count_like_any_other(ax: AX) -> None:
    Probe().tool(ax)

    @ax.tool
    def agent(times: int) -> list[str]:
        return [type(outcome(lambda n=n: ax.call("pay", {"amount": n}))).__name__ for n in range(times)]

    with ax.run(budget=Budget(tasks=3)):
        assert agent(times=4) == ["str", "str", "BudgetExceeded", "BudgetExceeded"]


def test_a_run_over_its_budget_is_dead_once_its_open_siblings_have_ended(ax: AX) -> None:
    held = Held("sibling")
    Probe(held).tool(ax)
    with ax.run(budget=Budget(tasks=1)) as run:
        sibling = ax.submit("pay")
        held.wait_entered()
        with pytest.raises(BudgetExceeded):
            ax.call("pay", {"amount": 2})
        assert run_of(ax, run.id).state is RunState.OPEN
        held.go.set()
        assert ax.wait_for_result(sibling, timeout=10) == "sibling"
    assert (run_of(ax, run.id).state, run_of(ax, run.id).reason) == (RunState.DEAD, "budget")


def test_extending_an_open_run_lets_it_go_on_at_once(ax: AX) -> None:
    probe = Probe()
    probe.tool(ax)
    with ax.run(budget=Budget(tasks=1)) as run:
        ax.call("pay", {"amount": 1})
        with pytest.raises(BudgetExceeded):
            ax.call("pay", {"amount": 2})
        verdict = ax.extend(run.id, tasks=1, by="ops")
        assert "ops gave it 1 tasks more" in verdict.message
        ax.call("pay", {"amount": 2})
    assert (probe.count, run_of(ax, run.id).state) == (2, RunState.DONE)


def test_a_run_that_spent_its_budget_can_still_be_undone(ax: AX) -> None:
    """Compensations have an allowance of their own: what ran is taken back, the last first."""
    undone: list[int] = []
    ax.register(
        lambda n: n,
        name="act",
        schema={"properties": {"n": {}}},
        policy={"effect": "unsafe", "compensate": lambda args, result: undone.append(args["n"])},
    )
    with ax.run(budget=Budget(tasks=2)) as run:
        answers = [outcome(lambda n=n: ax.call("act", {"n": n})) for n in range(4)]
    assert [type(a) for a in answers] == [int, int, BudgetExceeded, BudgetExceeded]
    assert (run_of(ax, run.id).state, run_of(ax, run.id).reason) == (RunState.DEAD, "budget")
    assert ax.rollback(run.id, by="ops")
    assert undone == [1, 0]
    assert run_of(ax, run.id).state is RunState.ROLLED_BACK
