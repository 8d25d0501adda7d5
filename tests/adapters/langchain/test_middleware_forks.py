"""Going back in time under the middleware: the branch is a run of its own, also when it pauses and is resumed."""

from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from ax_adapters.langchain import AXMiddleware
from ax_core import AX, RunState
from support.driving import Drive
from support.scripted import Scripted, said, thread, told

done: list[Any] = []


@tool
def pay(n: int) -> str:
    """Pays."""
    done.append(n)
    return f"paid {n}"


@tool
def ask(n: int) -> str:
    """Needs approval."""
    done.append(n)
    return f"did {n}"


@pytest.fixture(autouse=True)
def _fresh() -> None:
    done.clear()


def agent_of(ax: AX, *script: Any) -> Any:
    policies = {"pay": "unsafe", "ask": {"effect": "unsafe", "confirm": True}}
    return create_agent(
        Scripted(script=list(script)),
        [pay, ask],
        middleware=[AXMiddleware(ax, policies=policies)],
        checkpointer=InMemorySaver(),
    )


def before(agent: Any, node: str, which: int = 0) -> Any:
    """The config of a checkpoint whose next step is this; 0 is the newest."""
    found = [each for each in agent.get_state_history(thread()) if any(node in name for name in each.next)]
    return found[which].config


def runs_of(ax: AX) -> list[str]:
    """The runs that have calls, oldest first."""
    return list(dict.fromkeys(task.run_id for task in reversed(ax.tasks().tasks)))


@pytest.mark.parametrize("node", ["tools", "model", "before_agent"])
def test_a_branch_does_again_what_the_turn_did(node: str, ax: AX, drive: Drive) -> None:
    """A declared write is not merged with that of the turn: it is another run, and both end."""
    agent = agent_of(ax, [("pay", {"n": 1})], "end")
    drive(agent, said(), thread())
    back = before(agent, node, 1 if node == "model" else 0)
    assert told(drive(agent, None, back)) == ["paid 1"]
    assert done == [1, 1]
    assert len(runs_of(ax)) == 2
    assert {ax.tree(run).run.state for run in runs_of(ax)} == {RunState.DONE}


def test_each_branch_is_its_own(ax: AX, drive: Drive) -> None:
    """Also two from the same moment, and one from within a branch."""
    agent = agent_of(ax, [("pay", {"n": 1})], [("pay", {"n": 2})], "end")
    drive(agent, said(), thread())
    first = before(agent, "tools", 1)
    drive(agent, None, first)
    drive(agent, None, first)
    assert done == [1, 2] * 3
    drive(agent, None, before(agent, "tools"))  # the second payment of the newest branch
    assert done == [1, 2] * 3 + [2]
    assert len(runs_of(ax)) == 4


def test_a_branch_that_pauses_is_resumed_in_its_run(ax: AX, drive: Drive) -> None:
    """What resumes it does not say that it is a branch; its state does."""
    agent = agent_of(ax, [("pay", {"n": 1})], [("ask", {"n": 2})], [("pay", {"n": 3})], "end")
    drive(agent, said(), thread())
    drive(agent, Command(resume="approve"), thread())
    assert done == [1, 2, 3]
    drive(agent, None, before(agent, "tools", 2))
    result = drive(agent, Command(resume="approve"), thread())
    assert told(result) == ["paid 1", "did 2", "paid 3"]
    assert done == [1, 2, 3, 1, 2, 3]
    assert [ax.tree(run).run.used_tasks for run in runs_of(ax)] == [3, 3]
    assert {ax.tree(run).run.state for run in runs_of(ax)} == {RunState.DONE}


def test_a_new_turn_from_an_old_moment_is_one_run(ax: AX, drive: Drive) -> None:
    """Another message after going back is a turn like any other."""
    agent = agent_of(ax, [("pay", {"n": 1})], "end", [("pay", {"n": 1})], [("pay", {"n": 1})], "end")
    drive(agent, said(), thread())
    end = agent.get_state(thread()).config
    drive(agent, said("again"), thread())
    drive(agent, said("once more"), end)
    assert len(runs_of(ax)) == 3
    assert {ax.tree(run).run.state for run in runs_of(ax)} == {RunState.DONE}
    assert done == [1, 1, 1]  # within a turn the second payment is the first


def test_without_going_back_nothing_is_a_branch(ax: AX, drive: Drive) -> None:
    """A resume, also one that names its checkpoint, stays in its run."""
    agent = agent_of(ax, [("pay", {"n": 1}), ("ask", {"n": 2})], [("pay", {"n": 1})], "end")
    drive(agent, said(), thread())
    here = agent.get_state(thread()).config
    assert told(drive(agent, Command(resume="approve"), here))[:2] == ["paid 1", "did 2"]
    assert done == [1, 2]
    assert len(runs_of(ax)) == 1
