"""The wall time of a run: it ends the run, stands while only people are waited for, and cuts what runs inside."""

from __future__ import annotations

import pytest

from ax_core import (
    AX,
    Budget,
    BudgetExceeded,
    Effect,
    RunState,
    TaskDead,
    TaskTimeout,
)
from ax_core.model import Run
from support.aside import outcome
from support.expiry import expiring
from support.probe import Held, Interrupt, Probe
from support.skew import Skew


def run_of(ax: AX, run_id: str) -> Run:
    return ax.tree(run_id).run


def test_a_runs_wall_time_ends_it(ax: AX, clock: Skew) -> None:
    probe = Probe()
    probe.tool(ax)
    with ax.run(budget=Budget(seconds=60)) as run:
        ax.call("pay")
        clock.ahead(61)
        with pytest.raises(BudgetExceeded, match="wall time"):
            ax.call("pay")
    assert (run_of(ax, run.id).state, run_of(ax, run.id).reason, probe.count) == (RunState.DEAD, "budget", 1)


def test_the_wall_clock_of_a_run_stands_while_only_people_are_waited_for(ax: AX, clock: Skew) -> None:
    probe = Probe()
    probe.tool(ax, confirm=True)
    probe.tool(ax, "free")
    with ax.run(key="k", budget=Budget(seconds=60)):
        outcome(lambda: ax.call("pay", request_id="r"))
        clock.ahead(30)
    clock.ahead(3600)
    ax.confirm(ax.inbox()[0].id, by="ann")
    clock.ahead(3600)
    with ax.run(key="k"):
        assert ax.call("pay", request_id="r") == "done"
        clock.ahead(25)
        assert ax.call("free") == "done"
        clock.ahead(10)
        with pytest.raises(BudgetExceeded):
            ax.call("free")


def test_more_time_for_a_paused_run_is_added_to_where_its_clock_stands(ax: AX, clock: Skew) -> None:
    Probe().tool(ax, confirm=True)
    Probe().tool(ax, "free")
    with ax.run(key="k", budget=Budget(seconds=60)) as run:
        outcome(lambda: ax.call("pay", request_id="r"))
        clock.ahead(50)
    clock.ahead(3600)
    ax.extend(run.id, seconds=20, by="ops")
    ax.reject(ax.inbox()[0].id, by="ann")
    with ax.run(key="k"):
        clock.ahead(25)
        ax.call("free")
        clock.ahead(10)
        with pytest.raises(BudgetExceeded):
            ax.call("free")


def test_a_paused_run_is_not_over_because_time_went_by(ax: AX, clock: Skew) -> None:
    """Its doubt is resolved an hour later: what is in the way is that nobody has entered it, not its budget."""
    probe = Probe(Interrupt(), "paid")
    probe.tool(ax)
    ended = outcome_of_block(ax)
    clock.ahead(3600)
    ax.resolve(ax.inbox()[0].id, happened=False, rerun=True, by="ann")
    with pytest.raises(TaskDead, match="enter it again"):
        ax.call("pay", request_id="r")
    assert run_of(ax, ended).refused == 0
    with ax.run(key="k"):
        assert ax.call("pay", request_id="r") == "paid"


def outcome_of_block(ax: AX) -> str:
    """A run of a minute that was left with an effect in doubt."""
    with ax.run(key="k", budget=Budget(seconds=60)) as run:
        try:
            ax.call("pay", request_id="r")
        except Interrupt:
            pass
    assert run_of(ax, run.id).state is RunState.PAUSED
    return run.id


def test_a_rolled_back_run_takes_no_more_calls(ax: AX) -> None:
    Probe().tool(ax, effect=Effect.KEYED, compensate=lambda args, result: None)
    with ax.run(key="k") as run:
        ax.call("pay")
        ax.rollback(run.id, by="ops")
        with pytest.raises(TaskDead, match="has ended"):
            ax.call("pay", {"order": "8"})
    with pytest.raises(TaskDead), ax.run(key="k"):
        pass


def test_a_tools_time_is_cut_to_what_its_run_has_left(ax: AX) -> None:
    left = []
    Probe(*[lambda ctx: left.append(ctx.remaining())] * 3).tool(ax, timeout=30)
    with ax.run(budget=Budget(seconds=10)):
        ax.call("pay")
        with ax.run(budget=Budget(seconds=5)):
            ax.call("pay")
    ax.call("pay")
    assert [4 < left[1] <= 5 < left[0] <= 10, 10 < left[2] <= 30] == [True, True]


def test_the_time_of_a_further_attempt_is_cut_too(ax: AX) -> None:
    left: list[float] = []
    probe = Probe(RuntimeError("no"), lambda ctx: left.append(ctx.remaining()))
    probe.tool(ax, timeout=30)
    with ax.run(budget=Budget(seconds=10)):
        outcome(lambda: ax.call("pay", request_id="r"))
        ax.call("pay", request_id="r")
    assert 5 < left[0] <= 10


def test_a_tool_without_a_limit_of_its_own_ends_with_its_run(ax: AX) -> None:
    held = Held()
    probe = Probe(held)
    probe.tool(ax, effect=Effect.READ)
    with ax.run(budget=Budget(seconds=20)), expiring(held), pytest.raises(TaskTimeout):
        ax.call("pay")
    held.go.set()


def test_an_inner_call_is_cut_to_what_the_outer_one_has_left(ax: AX) -> None:
    left: list[float | None] = []
    Probe(*[lambda ctx: left.append(ctx.remaining())] * 2).tool(ax, timeout=30)

    @ax.tool(timeout=10)
    def outer() -> None:
        ax.call("pay")
        ax.call("pay", timeout=2)

    outer()
    assert 5 < left[0] <= 10
    assert 1 < left[1] <= 2
