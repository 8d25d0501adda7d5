"""A tool that hands over to the graph above raises, but has not failed: it is done, and not done again."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.errors import ParentCommand
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import Command, interrupt

from ax_adapters.langchain import wrap_tools
from ax_core import AX, State
from support.driving import Drive, node_of
from support.scripted import asks, thread


@pytest.fixture
def handed() -> list[str]:
    return []


@pytest.fixture
def team(ax: AX, handed: list[str]) -> Any:
    """A graph with an agent's tools in a graph below, and a desk beside it."""

    @tool
    def transfer(to: str) -> str:
        """Hands over."""
        handed.append(to)
        done = ToolMessage(f"over to {to}", tool_call_id="t")
        raise ParentCommand(Command(graph=Command.PARENT, goto=to, update={"messages": [done]}))

    @tool
    def ask() -> str:
        """Asks."""
        return str(interrupt("sure?"))

    below = node_of(*wrap_tools([transfer, ask], ax, policies={"transfer": "unsafe", "ask": "read"}))
    graph = StateGraph(MessagesState)
    graph.add_node("below", below)
    graph.add_node("desk", lambda _: {"messages": [("ai", f"desk, {interrupt('what?')}")]})
    graph.add_edge(START, "below")
    return graph.compile(checkpointer=InMemorySaver())


def test_a_tool_that_hands_over_is_done(team: Any, ax: AX, drive: Drive, handed: list[str]) -> None:
    """The graph above goes on where it says, with what it says; the record holds a success."""
    paused = drive(team, {"messages": [asks(("transfer", {"to": "desk"}, "t"))]}, thread())
    assert [each.value for each in paused["__interrupt__"]] == ["what?"]
    end = drive(team, Command(resume="hello"), thread())
    assert [message.text for message in end["messages"][1:]] == ["over to desk", "desk, hello"]
    (task,) = ax.tasks().tasks
    assert (task.state, handed) == (State.SUCCESS, ["desk"])


def test_what_was_handed_over_is_answered_from_the_record(ax: AX, drive: Drive, handed: list[str]) -> None:
    """A node that is run again after a crash hands over again, and the tool's body is not entered."""

    @tool
    def transfer(to: str) -> str:
        """Hands over."""
        handed.append(to)
        raise ParentCommand(Command(graph=Command.PARENT, goto=to))

    (wrapped,) = wrap_tools([transfer], ax, policies={"transfer": "unsafe"})
    for _ in range(2):
        with ax.override(request_id="r"), pytest.raises(ParentCommand) as raised:
            drive(wrapped, {"to": "desk"})
        assert raised.value.args[0] == Command(graph=Command.PARENT, goto="desk")
    assert handed == ["desk"]
