"""AX's own answers: an error message that the protocol allows, or an exception where that is asked for."""

from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import ToolMessage
from langchain_core.tools import StructuredTool, tool
from langgraph.checkpoint.memory import InMemorySaver

from ax_adapters.langchain import wrap_tool, wrap_tools
from ax_core import AX, ConfirmationPending, Policy, Rejected, State
from support.driving import Drive, Wrap, call_of, node_of
from support.sample_tools import add, returning
from support.scripted import Scripted, answers, asks, said, thread, told

PURGED: list[Any] = []


@tool
def purge(older_than_days: int = 0, dry_run: bool = False) -> str:
    """Purges old files."""
    PURGED.append((older_than_days, dry_run))
    return "purged"


@pytest.fixture(autouse=True)
def nothing_purged() -> None:
    PURGED.clear()


def test_a_verdict_is_an_error_message_of_its_call(ax: AX, drive: Drive) -> None:
    """It names the call it answers and the tool, has error status, and the agent goes on to its answer."""
    made = wrap_tool(add, ax, policy=Policy("unsafe", confirm=True))
    result = drive(create_agent(Scripted(script=[[("add", {"a": 1}, "x")], "waiting"]), [made]), said())
    (message,) = answers(result)
    assert (message.tool_call_id, message.name, message.status) == ("x", "add", "error")
    assert "PENDING APPROVAL" in message.text
    assert result["messages"][-1].text == "waiting"


def test_outside_of_a_tool_call_it_is_the_text(ax: AX, drive: Drive) -> None:
    """Who invokes with plain arguments gets plain text."""
    answer = drive(wrap_tool(add, ax, policy=Policy("unsafe", confirm=True)), {"a": 1})
    assert isinstance(answer, str) and "PENDING APPROVAL" in answer


def test_on_refusal_raise(ax: AX, drive: Drive) -> None:
    """For those who want exceptions."""
    made = wrap_tool(add, ax, policy=Policy("unsafe", confirm=True), on_refusal="raise")
    with pytest.raises(ConfirmationPending) as caught:
        drive(made, call_of(made, {"a": 1}))
    assert ax.get(caught.value.task_id or "").state is State.CONFIRMING


def test_a_verdict_never_ends_the_loop_as_a_result(ax: AX, drive: Drive) -> None:
    """return_direct is for results: a call that waits for a person is told to the model."""
    made = wrap_tool(
        StructuredTool.from_function(add.func, return_direct=True), ax, policy=Policy("unsafe", confirm=True)
    )
    result = drive(create_agent(Scripted(script=[[("add", {"a": 1})], "I asked"]), [made]), said())
    assert [message.type for message in result["messages"]] == ["human", "ai", "tool", "ai"]


def test_a_result_after_a_verdict_ends_the_loop_again(ax: AX, drive: Drive) -> None:
    """Only the call that got the verdict is told; the next one is as direct as the tool says."""
    made = wrap_tool(
        StructuredTool.from_function(add.func, return_direct=True),
        ax,
        policy=Policy("unsafe", confirm=lambda args: args["a"] == 1),
    )
    script = [[("add", {"a": 1})], [("add", {"a": 2})], "never said"]
    result = drive(create_agent(Scripted(script=script), [made]), said())
    assert [message.type for message in result["messages"]] == ["human", "ai", "tool", "ai", "tool"]


def test_content_and_artifact_tools_take_verdicts(ax: AX, drive: Drive) -> None:
    """A verdict needs no artifact."""
    bare = returning(("c", 1), response_format="content_and_artifact")
    made = wrap_tool(bare, ax, policy=Policy("unsafe", confirm=True))
    message = drive(made, call_of(made, {"a": 1}))
    assert (message.status, message.artifact) == ("error", None)


@pytest.mark.parametrize("effect", ["unsafe", "idempotent", "keyed"])
def test_unknown_arguments_of_a_declared_tool_are_refused(effect: str, ax: AX, drive: Drive) -> None:
    """Instead of running on defaults with what the model meant dropped; near names are told, the body not entered."""
    made = wrap_tool(purge, ax, policy=effect)
    script = [[("purge", {"olderThan": 90, "dryrun": True})], "sorry"]
    (message,) = answers(drive(create_agent(Scripted(script=script), [made]), said()))
    assert PURGED == []
    assert message.status == "error"
    assert "'olderThan'" in message.text and "did you mean 'dry_run'" in message.text
    (task,) = ax.tasks().tasks
    assert (task.state, task.reason, task.payload) == (State.QUARANTINE, "invalid_args", script[0][0][1])


@pytest.mark.parametrize("effect", [None, "read"])
def test_unknown_arguments_of_other_tools_are_dropped_as_bare(effect: str | None, ax: AX) -> None:
    """What declares nothing, or only reads, behaves as before."""
    assert wrap_tool(purge, ax, policy=effect).invoke({"olderThan": 90}) == "purged"
    assert PURGED == [(0, False)]


def test_a_validation_error_in_an_agent_is_recorded_and_answered_as_bare(
    ax: AX, drive: Drive, wrap: Wrap
) -> None:
    """The framework's message to the model is the bare one to the letter, and the record says invalid_args."""
    asked = {"messages": [asks(("add", {"a": "x"}, "1"))]}
    assert told(drive(node_of(wrap(add)), asked)) == told(drive(node_of(add), asked))
    (task,) = ax.tasks().tasks
    assert (task.state, task.reason, task.payload) == (State.QUARANTINE, "invalid_args", {"a": "x"})
    assert task.error is not None and "a" in task.error["message"]


def test_a_model_that_repeats_a_wrong_call_is_stopped(ax: AX, drive: Drive) -> None:
    """The same misfit again and again: the model is told, then the request is over; no stack and no path is shown."""
    made = wrap_tool(purge, ax, policy="unsafe")
    forever = [[("purge", {"file_path": "/x"})]] * 12
    result = drive(
        create_agent(Scripted(script=[*forever, "gave up"]), [made], checkpointer=InMemorySaver()),
        said(),
        thread(),
    )
    texts = told(result)
    assert PURGED == []
    assert "same arguments" in texts[5]
    assert "Stopped" in texts[-1] or "ended" in texts[-1]
    assert all("Traceback" not in text and ".py" not in text for text in texts)


def test_rejections_reach_the_model_in_the_reviewers_words(ax: AX, drive: Drive) -> None:
    """The same message passed through the executor again gets the stored rejection; the tool is never entered."""
    made = wrap_tool(purge, ax, policy=Policy("unsafe", confirm=True))
    with ax.override(request_id="r"):
        drive(made, call_of(made, {"older_than_days": 9}, "x"))
        (task,) = ax.tasks().tasks
        ax.reject(task.id, by="ops", reason="wrong account, use 4411 😀")
        for id in ("x", "y"):
            message = drive(made, call_of(made, {"older_than_days": 9}, id))
            assert isinstance(message, ToolMessage)
            assert (message.tool_call_id, message.status) == (id, "error")
            assert "wrong account, use 4411 😀" in message.text
    assert PURGED == []


def test_a_rejected_call_raises_where_asked(ax: AX) -> None:
    """on_refusal="raise" raises the typed verdict."""
    made = wrap_tools([purge], ax, policies={"purge": Policy("unsafe", confirm=True)}, on_refusal="raise")[0]
    with ax.override(request_id="r"):
        with pytest.raises(ConfirmationPending) as waiting:
            made.invoke({})
        ax.reject(waiting.value.task_id or "", by="ops")
        with pytest.raises(Rejected):
            made.invoke({})
