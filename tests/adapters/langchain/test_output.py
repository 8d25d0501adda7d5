"""What comes out: results, artifacts, messages and exceptions as the bare tool gives them."""

import operator
from typing import Annotated, Any

import pytest
from langchain_core.documents import Document
from langchain_core.messages import ToolMessage
from langchain_core.tools import InjectedToolCallId, ToolException, create_retriever_tool, tool
from langgraph.graph import MessagesState
from langgraph.types import Command

from support.driving import Drive, Wrap, alike, call_of, node_of
from support.hearing import Hearing
from support.sample_tools import Library, Point, raising, returning
from support.scripted import asks

SHAPES = [
    "text", "", None, 1, 1.5, {"k": "v"}, ["a", "b"], [{"type": "text", "text": "x"}], [], (1, 2), {1: 2},
    b"\x00", Point(x=1),
]  # fmt: skip


class Refused(Exception):
    """An exception of the user's own."""

    def __init__(self, code: int, detail: str) -> None:
        self.code, self.detail = code, detail
        super().__init__(f"{code}: {detail}")


@pytest.mark.parametrize("value", SHAPES, ids=repr)
def test_every_shape_of_result_is_formatted_as_before(value: Any, wrap: Wrap) -> None:
    """As an answer to a tool call, and as a plain value, thirteen shapes come out equal."""
    bare = returning(value)
    alike(bare, wrap(bare), call_of(bare, {"a": 1}))
    alike(bare, wrap(bare), {"a": 1})


def test_without_a_tool_call_the_object_itself_comes_back(wrap: Wrap, drive: Drive) -> None:
    """The live object of the tool, not a copy that was stored."""
    made = Point(x=1)
    assert drive(wrap(returning(made)), {"a": 1}) is made


@pytest.mark.parametrize(
    "mode",
    [False, True, "oops", lambda error: [{"type": "text", "text": str(error)}]],
    ids=["raised", "told", "text", "blocks"],
)
def test_a_tool_exception_is_handled_as_the_tool_says(mode: Any, wrap: Wrap) -> None:
    """In each mode of handle_tool_error the answer, its status included, is the bare tool's."""
    bare = raising(ToolException("boom"), handle_tool_error=mode)
    wrapped = wrap(bare)
    alike(bare, wrapped, call_of(bare, {"a": 1}))
    alike(bare, wrapped, {"a": 1})


def test_any_other_exception_passes_as_it_is(wrap: Wrap, drive: Drive) -> None:
    """Type, attributes, cause and the user's own frame are the original's."""

    @tool
    def fails(a: int) -> str:
        """Fails."""
        try:
            raise ZeroDivisionError
        except ZeroDivisionError as cause:
            raise Refused(7, "d") from cause

    with pytest.raises(Refused) as caught:
        drive(wrap(fails), {"a": 1})
    assert caught.value.code == 7
    assert isinstance(caught.value.__cause__, ZeroDivisionError)
    assert any(frame.name == "fails" for frame in caught.traceback)


def test_content_and_artifact_stay_apart(wrap: Wrap, drive: Drive) -> None:
    """The artifact is the live object with its tuples and documents; the model sees the content only."""
    artifact = {"docs": [Document(page_content="p")], "pair": (1, 2)}
    message = drive(
        wrap(returning(("c", artifact), response_format="content_and_artifact")), call_of("value", {"a": 1})
    )
    assert (message.content, message.status, message.tool_call_id) == ("c", "success", "c1")
    assert message.artifact == artifact and isinstance(message.artifact["pair"], tuple)


def test_a_malformed_pair_is_the_frameworks_error(wrap: Wrap) -> None:
    """What is no two-tuple is refused in the framework's own words."""
    bare = returning([1, 2], response_format="content_and_artifact")
    answer = alike(bare, wrap(bare), call_of(bare, {"a": 1}))
    assert answer[:2] == ("raised", ValueError)


def test_a_retriever_tool_gives_its_documents(wrap: Wrap) -> None:
    """Documents come as the artifact, and the retriever's run nests under the tool's."""
    made = wrap(create_retriever_tool(Library(), "look", "looks up", response_format="content_and_artifact"))
    hearing = Hearing()
    message = made.invoke(call_of(made, {"query": "q"}), {"callbacks": [hearing]})
    assert message.artifact == [Document(page_content="about q")]
    assert ("retriever", hearing.tool_run) in hearing.heard


def test_commands_and_messages_reach_the_graph(seam: Wrap, drive: Drive) -> None:
    """A Command, a ToolMessage, and a list of both, update the state as from bare tools."""

    @tool
    def command(x: int, tool_call_id: Annotated[str, InjectedToolCallId]) -> Command:
        """Updates."""
        return Command(
            update={"messages": [ToolMessage(f"command {x}", tool_call_id=tool_call_id)], "extra": x}
        )

    @tool
    def message(x: int, tool_call_id: Annotated[str, InjectedToolCallId]) -> ToolMessage:
        """Answers."""
        return ToolMessage(f"message {x}", tool_call_id=tool_call_id, artifact={"a": x})

    @tool
    def both(x: int, tool_call_id: Annotated[str, InjectedToolCallId]) -> list:
        """Does both."""
        return [Command(update={"extra": x}), ToolMessage("both", tool_call_id=tool_call_id)]

    class Counting(MessagesState):
        extra: Annotated[int, operator.add]

    graph = node_of(seam(command), seam(message), seam(both), state=Counting)
    asked = asks(("command", {"x": 1}, "1"), ("message", {"x": 2}, "2"), ("both", {"x": 3}, "3"))
    out = drive(graph, {"messages": [asked], "extra": 0})
    assert {m.tool_call_id: m.content for m in out["messages"][1:]} == {
        "1": "command 1",
        "2": "message 2",
        "3": "both",
    }
    assert out["extra"] == 4


def test_a_tool_nodes_error_policy_sees_the_original_types(seam: Wrap, drive: Drive) -> None:
    """A handler that names the user's exception gets it; a wrong argument is still the node's own answer."""

    def handler(error: Refused) -> str:
        return f"handled {error.code}"

    made = seam(raising(Refused(1, "d")))
    out = drive(node_of(made, handle_tool_errors=handler), {"messages": [asks(("fails", {"a": 1}))]})
    assert out["messages"][-1].content == "handled 1"
    out = drive(node_of(made), {"messages": [asks(("fails", {"a": "x"}))]})
    assert out["messages"][-1].status == "error"
    assert "Error invoking tool 'fails'" in out["messages"][-1].content


def test_a_tool_node_raises_what_nobody_handles(seam: Wrap, drive: Drive) -> None:
    """The run ends with the tool's own exception, as bare."""
    with pytest.raises(Refused):
        drive(node_of(seam(raising(Refused(1, "d")))), {"messages": [asks(("fails", {"a": 1}))]})
