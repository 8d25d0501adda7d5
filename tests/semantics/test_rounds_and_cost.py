"""Decision rounds and cost units: taken from the budget before they are used, never overshot."""

from __future__ import annotations

import contextvars
from functools import partial

import pytest

from ax_core import AX, Budget, BudgetExceeded, PolicyError, RunState, ToolFailed, current
from support.aside import together


@pytest.fixture
def ax() -> AX:
    made = AX("sqlite://")

    @made.tool(effect="read")
    def crunch(units: int) -> str:
        current().spend(units)
        return "done"

    return made


def test_a_tool_that_asks_for_more_than_is_left_gets_nothing_and_is_told(ax: AX) -> None:
    """Cost is all or nothing: what was refused was not taken."""
    with ax.run(budget=Budget(cost=10)) as run:
        assert ax.call("crunch", {"units": 7}) == "done"
        with pytest.raises(ToolFailed) as failed:
            ax.call("crunch", {"units": 4})
        assert isinstance(failed.value.__cause__, BudgetExceeded)
    assert ax.tree(run.id).run.state is RunState.DEAD


def test_parallel_spenders_never_overshoot(ax: AX) -> None:
    """Ten threads that each want three of ten units: exactly three get them."""
    with ax.run(budget=Budget(cost=10)):
        contexts = [contextvars.copy_context() for _ in range(10)]
        answers = together([partial(each.run, ax.call, "crunch", {"units": 3}) for each in contexts])
    assert sum(answer == "done" for answer in answers) == 3


def test_a_nested_run_spends_what_its_parent_has(ax: AX) -> None:
    """Budgets count the whole tree: a generous sub-run does not refill its parent."""
    with ax.run(budget=Budget(cost=5)), ax.run(budget=Budget(cost=100)), pytest.raises(ToolFailed):
        ax.call("crunch", {"units": 6})


def test_rounds_end_the_run(ax: AX) -> None:
    """The model gets as many decision rounds as the budget says."""
    with ax.run(budget=Budget(rounds=2)) as run:
        run.round()
        run.round()
        with pytest.raises(BudgetExceeded, match="decision rounds"):
            run.round()


def test_outside_a_run_nothing_is_counted(ax: AX) -> None:
    """An implicit run has no budget."""
    assert ax.call("crunch", {"units": 10_000}) == "done"


@pytest.mark.parametrize("bad", [{"tasks": -1}, {"rounds": 1.5}, {"seconds": -0.1}, {"cost": True}])
def test_a_budget_that_is_no_number_is_refused_at_once(bad: dict[str, object]) -> None:
    """A budget that nobody can keep is an error where it is written."""
    with pytest.raises(PolicyError):
        Budget(**bad)  # type: ignore[arg-type]
