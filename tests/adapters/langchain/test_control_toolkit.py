"""AXControlToolkit: what an agent may ask and do about its own calls."""

import json
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

from ax_adapters.bridge.control import stands
from ax_adapters.langchain import AXControlToolkit, AXMiddleware, wrap_tool
from ax_core import AX, RunState, State, TaskCancelled
from support.driving import Drive, call_of
from support.scripted import Scripted, said, thread, told


@tool
def send(to: str) -> str:
    """Sends."""
    return f"sent to {to}"


ASK_ME = {"effect": "unsafe", "confirm": True}


def control(ax: AX) -> dict[str, Any]:
    return {made.name: made for made in AXControlToolkit(ax).get_tools()}


def test_what_is_pending_is_the_sessions_own(ax: AX, drive: Drive) -> None:
    """Another conversation's calls are neither listed nor told of, in the same words as if they were not there."""
    made, tools = wrap_tool(send, ax, policy=ASK_ME), control(ax)
    drive(made, call_of(made, {"to": "Ada"}), thread("A"))
    drive(made, call_of(made, {"to": "Bob"}), thread("B"))
    (mine,) = drive(tools["ax_pending"], {}, thread("A"))
    assert (mine["tool"], mine["arguments"], mine["state"]) == ("send", {"to": "Ada"}, "CONFIRMING")
    assert "waits for a person" in mine["means"]
    assert drive(tools["ax_status"], {"task_id": mine["task_id"]}, thread("A"))["state"] == "CONFIRMING"
    hidden = drive(tools["ax_status"], {"task_id": mine["task_id"]}, thread("B"))
    never = drive(tools["ax_status"], {"task_id": "nope"}, thread("B"))
    assert {**hidden, "task_id": "nope"} == never
    assert drive(tools["ax_pending"], {}) == []
    assert drive(tools["ax_status"], {"task_id": mine["task_id"]})["state"] == "unknown"


def test_the_state_of_a_call_comes_with_its_result(ax: AX, drive: Drive) -> None:
    """A success tells what it gave."""
    drive(wrap_tool(send, ax, policy="unsafe"), {"to": "Ada"}, thread())
    status = drive(control(ax)["ax_status"], {"task_id": ax.tasks().tasks[0].id}, thread())
    assert (status["means"], status["result"]) == ("It was done.", "sent to Ada")


def test_it_leaves_no_task_of_its_own(ax: AX, drive: Drive) -> None:
    """Nor under the middleware: what an agent asks about its calls is not one of them."""
    agent = create_agent(
        Scripted(script=[[("ax_pending", {})], [("ax_status", {"task_id": "x"})], "done"]),
        AXControlToolkit(ax).get_tools(),
        middleware=[AXMiddleware(ax, default_effect="unsafe")],
        checkpointer=InMemorySaver(),
    )
    drive(agent, said(), thread())
    assert ax.tasks().tasks == ()


@pytest.mark.parametrize("door", ["middleware", "ax.run", "wrapped"])
def test_an_agent_cancels_its_own_run(ax: AX, drive: Drive, door: str) -> None:
    """What waits for approval is cancelled and nothing more is done; another conversation is left alone."""
    made = wrap_tool(send, ax, policy={**ASK_ME, "confirm": lambda args: args["to"] != "Eve"})
    drive(made, call_of(made, {"to": "Bob"}), thread("other"))
    script = [[("send", {"to": "Ada"})], [("ax_cancel", {})], [("send", {"to": "Eve"})], "done"]
    agent = create_agent(
        Scripted(script=script),
        [made, *AXControlToolkit(ax).get_tools()],
        middleware=[AXMiddleware(ax)] if door == "middleware" else [],
    )
    if door == "ax.run":
        with pytest.raises(TaskCancelled), ax.run(session="s") as run:
            run_id = run.id
            answers = told(drive(agent, said()))
            assert "cancelled" in answers[1] and "this request has been ended" in answers[2]
            raise TaskCancelled("left")
    else:
        answers = told(drive(agent, said(), thread()))
        assert "cancelled" in answers[1]
        run_id = next(task.run_id for task in ax.tasks().tasks if task.payload == {"to": "Ada"})
    states = {task.payload["to"]: task.state for task in ax.tasks().tasks}
    assert (states["Ada"], states["Bob"]) == (State.CANCELLED, State.CONFIRMING)
    if door != "wrapped":  # a run that nobody opened is only its calls: a later one is let in
        assert "Eve" not in states
        assert ax.tree(run_id).run.state is RunState.CANCELLED


def test_nothing_to_cancel(ax: AX, drive: Drive) -> None:
    """Told as such."""
    assert "nothing to cancel" in drive(control(ax)["ax_cancel"], {}, thread())


def test_every_state_has_words_for_a_model(ax: AX) -> None:
    """None is told by its name alone."""
    made = wrap_tool(send, ax)
    made.invoke({"to": "Ada"})
    (task,) = ax.tasks().tasks
    from dataclasses import replace

    said_of = {state: stands(replace(task, state=state, reason=None)) for state in State}
    assert len(set(said_of.values())) >= 9
    assert all(text.endswith(".") and str(state) not in text for state, text in said_of.items())
    assert "may have taken effect" in stands(replace(task, state=State.FAILED, maybe_applied=True))
    assert "Nobody knows" in stands(replace(task, state=State.QUARANTINE, reason="outcome_unknown"))
    assert json.dumps(list(said_of.values()))
