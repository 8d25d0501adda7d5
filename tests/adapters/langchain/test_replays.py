"""A replay answers like the first time: the same types and values, addressed to the call that asks now."""

import threading
from typing import Annotated, Any

import pytest
from langchain_core.documents import Document
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.tools import BaseTool, InjectedToolCallId, tool
from langgraph.types import Command, Send

from ax_adapters.langchain import wrap_tool
from ax_core import AX
from ax_core.codec import Opaque
from support.driving import Drive, call_of
from support.sample_tools import Point, returning

VALUES = [
    "text", None, 1.5, {"k": ("a", 1)}, (1, 2), [{"type": "text", "text": "x"}], {1: 2}, b"\x00", {"s": {1, 2}},
    Document(page_content="p", metadata={"n": (1,)}), [Document(page_content="p")], AIMessage("hi"),
    Command(update={"n": 1}, goto="next"), Command(goto=[Send("node", {"x": 1})]),
]  # fmt: skip


def twice(
    ax: AX, made: BaseTool, drive: Drive, args: Any, ids: tuple[str, str] | None = ("c1", "c2")
) -> list[Any]:
    """The same request sent twice, under two tool call ids (None: as plain arguments)."""
    with ax.override(request_id="r"):
        return [drive(made, args if ids is None else call_of(made, args, id)) for id in ids or ("", "")]


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_a_plain_result_equals_the_first(value: Any, ax: AX, drive: Drive) -> None:
    """Type for type, down to tuples, integer keys and documents; and it is a copy of its own."""
    first, second = twice(ax, wrap_tool(returning(value), ax), drive, {"a": 1}, None)
    assert first is value
    assert (type(second), second) == (type(value), value)
    if isinstance(value, list | dict | Document):
        assert second is not value


def test_a_model_of_the_users_own(ax: AX, drive: Drive) -> None:
    """An allowed class comes back as itself; one that nobody allowed is never run again to get it."""
    ax.allow(Point)
    first, second = twice(ax, wrap_tool(returning(Point(x=1)), ax), drive, {"a": 1}, None)
    assert first == second == Point(x=1)


def test_messages_name_the_call_they_answer_now(ax: AX, drive: Drive) -> None:
    """Content, artifact, name and status are the first's; only the tool call id is the asking call's."""
    artifact = {"docs": [Document(page_content="p")], "raw": b"\x00" * 1000, "pair": (1, 2)}
    made = wrap_tool(returning(("c", artifact), response_format="content_and_artifact"), ax)
    first, second = twice(ax, made, drive, {"a": 1})
    assert (first.tool_call_id, second.tool_call_id) == ("c1", "c2")
    for message in (first, second):
        assert (message.content, message.artifact, message.name, message.status) == (
            "c",
            artifact,
            "value",
            "success",
        )


def test_tool_messages_and_commands_of_the_tools_own(ax: AX, drive: Drive) -> None:
    """What a tool builds itself is readdressed inside too, in a list and in a Command."""

    @tool
    def build(x: int, tool_call_id: Annotated[str, InjectedToolCallId]) -> list:
        """Builds."""
        inside = ToolMessage("inside", tool_call_id=tool_call_id)
        return [
            Command(update={"messages": [inside], "n": x}),
            ToolMessage("outside", tool_call_id=tool_call_id),
        ]

    for expected, got in zip(("c1", "c2"), twice(ax, wrap_tool(build, ax), drive, {"x": 1}), strict=True):
        command, message = got
        assert (command.update["n"], command.update["messages"][0].tool_call_id) == (1, expected)
        assert (message.content, message.tool_call_id) == ("outside", expected)


def test_each_caller_has_a_copy_of_its_own(ax: AX, drive: Drive) -> None:
    """ToolNode changes messages in place: what one caller does to its answer, the next does not see."""

    @tool
    def build(x: int) -> ToolMessage:
        """Builds."""
        return ToolMessage("kept", tool_call_id="any")

    made = wrap_tool(build, ax)
    _, second = twice(ax, made, drive, {"x": 1})
    second.content = "spoilt"
    assert twice(ax, made, drive, {"x": 1})[1].content == "kept"


def test_what_cannot_be_stored_is_not_run_again(ax: AX, drive: Drive) -> None:
    """The first caller gets the live object; the replay says what it was, and the tool is not entered."""
    bodies: list[Any] = []

    class Alive:
        """Nothing that can be written down."""

    @tool
    def live(x: int) -> Any:
        """Opens something."""
        bodies.append(Alive())
        return bodies[-1]

    first, second = twice(ax, wrap_tool(live, ax, policy="unsafe"), drive, {"x": 1}, None)
    assert first is bodies[0]
    assert "Alive" in repr(second)
    assert len(bodies) == 1


@pytest.mark.parametrize(
    "artifact", [b"\x00\x01" * 1_000_000, {"handle": threading.Lock()}], ids=["large", "live"]
)
def test_an_artifact_that_cannot_be_stored_costs_itself_alone(artifact: Any, ax: AX, drive: Drive) -> None:
    """The first caller gets the object; a replay has the same content, and says what became of the artifact."""
    made = wrap_tool(returning(("c", artifact), response_format="content_and_artifact"), ax, policy="unsafe")
    first, second = twice(ax, made, drive, {"a": 1})
    assert first.artifact is artifact
    assert (first.content, second.content, second.status, second.tool_call_id) == ("c", "c", "success", "c2")
    assert isinstance(second.artifact, Opaque) and second.artifact.note
    assert ax.tasks().tasks[0].attempts == 1


def test_content_that_cannot_be_stored_is_answered_with_what_is_left_of_it(ax: AX, drive: Drive) -> None:
    """And not with an exception about the shape of a placeholder."""
    large = returning(("c" * 2_000_000, 1), response_format="content_and_artifact")
    first, second = twice(ax, wrap_tool(large, ax, policy="unsafe"), drive, {"a": 1})
    assert (len(first.content), first.artifact) == (2_000_000, 1)
    assert second.content.startswith("[not kept: truncated") and second.artifact is None
    assert ax.tasks().tasks[0].attempts == 1


def test_many_callers_of_one_request_share_one_execution(ax: AX) -> None:
    """Eight threads with the same request: one effect, and everyone the same answer under its own id."""
    bodies, line = [], threading.Barrier(8)

    @tool
    def pay(x: int) -> str:
        """Pays."""
        bodies.append(x)
        return "paid"

    made, got = wrap_tool(pay, ax, policy="unsafe"), {}

    def ask(id: str) -> None:
        line.wait(20)
        with ax.override(request_id="r"):
            got[id] = made.invoke(call_of(made, {"x": 1}, id))

    threads = [threading.Thread(target=ask, args=(f"id{n}",)) for n in range(8)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert bodies == [1]
    assert {id: (m.tool_call_id, m.content.split("\n")[0]) for id, m in got.items()} == {
        f"id{n}": (f"id{n}", "paid") for n in range(8)
    }


def test_other_arguments_under_a_known_request_are_a_conflict(ax: AX, drive: Drive) -> None:
    """A request id is one decision; the model is told that nothing was done."""
    made = wrap_tool(returning("x"), ax)
    with ax.override(request_id="r"):
        drive(made, call_of(made, {"a": 1}))
        message = drive(made, call_of(made, {"a": 2}))
    assert message.status == "error" and "nothing was done" in message.text
