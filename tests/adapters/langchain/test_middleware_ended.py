"""A run that is ended under its agent: cancelled by an operator while it works, or while it waits for a person."""

from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from ax_adapters.langchain import AXMiddleware
from ax_core import AX, RunState, State, TaskCancelled
from support.driving import Drive
from support.scripted import Scripted, answers, said, thread, told

done: list[int] = []


@tool
def note(n: int) -> str:
    """Notes."""
    done.append(n)
    return f"noted {n}"


@tool
def ask(n: int) -> str:
    """Needs approval."""
    done.append(n)
    return f"did {n}"


@pytest.fixture(autouse=True)
def _fresh() -> None:
    done.clear()


def agent_of(ax: AX, script: Any, saver: Any, **options: Any) -> Any:
    guard = AXMiddleware(ax, policies={"ask": {"effect": "unsafe", "confirm": True}}, **options)
    return create_agent(Scripted(script=script), [note, ask], middleware=[guard], checkpointer=saver)


def cancelling(ax: AX, then: Any) -> Any:
    """A step of the model, before which an operator cancels the run."""

    def step(messages: Any) -> Any:
        ax.cancel(ax.tasks().tasks[-1].run_id, by="ops")
        return then

    return step


def test_the_model_may_say_one_more_thing(ax: AX, drive: Drive) -> None:
    """Its calls are refused, it is told so, and what it says then is the agent's answer."""
    script = [[("note", {"n": 1})], cancelling(ax, [("note", {"n": 2})]), "I was stopped."]
    result = drive(agent_of(ax, script, InMemorySaver()), said(), thread())
    assert [message.status for message in answers(result)] == ["success", "error"]
    assert (result["messages"][-1].text, done) == ("I was stopped.", [1])
    assert ax.tree(ax.tasks().tasks[0].run_id).run.state is RunState.CANCELLED
    with ax.run(session="T"):
        pass  # nobody holds the session any more


def test_a_model_that_does_not_listen_is_not_asked_again(ax: AX, drive: Drive) -> None:
    """The agent ends with why."""
    script = [[("note", {"n": 1})], cancelling(ax, [("note", {"n": 2})]), [("note", {"n": 3})], "never"]
    result = drive(agent_of(ax, script, InMemorySaver()), said(), thread())
    assert result["messages"][-1].additional_kwargs["ax_code"] == TaskCancelled.code
    assert "was cancelled" in result["messages"][-1].text
    assert done == [1]


def test_it_raises_where_asked(ax: AX, drive: Drive) -> None:
    """on_refusal="raise"."""
    script = [[("note", {"n": 1})], cancelling(ax, [("note", {"n": 2})]), "never"]
    with pytest.raises(TaskCancelled):
        drive(agent_of(ax, script, InMemorySaver(), on_refusal="raise"), said(), thread())


@pytest.mark.parametrize("where", ["the same middleware", "another one"])
def test_an_agent_that_waited_for_a_person(where: str, ax: AX, drive: Drive) -> None:
    """Resumed after its run was cancelled, it does nothing more; the conversation goes on."""
    saver, script = InMemorySaver(), [[("ask", {"n": 1})], "It was cancelled.", [("note", {"n": 7})], "end"]
    agent = agent_of(ax, script, saver)
    assert drive(agent, said(), thread())["__interrupt__"]
    (task,) = ax.tasks().tasks
    assert ax.cancel(task.run_id, by="ops").done
    if where == "another one":
        agent = agent_of(ax, script, saver)
    result = drive(agent, Command(resume="approve"), thread())
    assert (answers(result)[0].status, result["messages"][-1].text) == ("error", "It was cancelled.")
    assert (ax.get(task.id).state, done) == (State.CANCELLED, [])
    assert told(drive(agent, said("again"), thread()))[-1] == "noted 7"
