"""Which intent a call belongs to, and what an intent may use."""

import threading
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

from ax_adapters.langchain import wrap_tool, wrap_tools
from ax_core import AX, Budget, BudgetExceeded, RunState, SessionBusy
from support.driving import Drive
from support.scripted import Scripted, answers, said, thread, told
from support.skew import Skew

CALLS = [[("note", {"n": n})] for n in range(1, 4)]


@tool
def note(n: int) -> str:
    """Notes."""
    return f"noted {n}"


def agent_of(ax: AX, *script: Any, **more: Any) -> Any:
    """An agent with memory and the one tool."""
    return create_agent(
        Scripted(script=list(script)), wrap_tools([note], ax, policies={"note": "idempotent"}, **more),
        checkpointer=InMemorySaver(),
    )  # fmt: skip


def test_a_turn_is_one_run(ax: AX, drive: Drive) -> None:
    """Calls between two human messages share a run, the next turn has another; the thread is their session."""
    agent = agent_of(ax, *CALLS[:2], "a", CALLS[2], "b")
    drive(agent, said("one"), thread())
    drive(agent, said("two"), thread())
    third, second, first = ax.tasks().tasks
    assert first.run_id == second.run_id != third.run_id
    assert {task.session for task in (first, second, third)} == {"T"}
    assert len(ax.tree(first.run_id).tasks) == 2


def test_the_enclosing_run_wins(ax: AX, drive: Drive) -> None:
    """Inside ax.run the calls are that run's, with its session, whatever the thread is called."""
    with ax.run(session="user-42") as run:
        drive(agent_of(ax, *CALLS, "done"), said(), thread(ax_run="another"))
    assert {(task.run_id, task.session) for task in ax.tasks().tasks} == {(run.id, "user-42")}
    assert ax.tree(run.id).run.used_tasks == 3


def test_a_run_named_in_the_config(ax: AX, drive: Drive) -> None:
    """configurable["ax_run"] names the run where nothing encloses the call."""
    agent = agent_of(ax, CALLS[0], "a", CALLS[1], "b")
    for _ in range(2):
        drive(agent, said(), thread(ax_run="order-7"))
    assert {task.run_id for task in ax.tasks().tasks} == {"order-7"}


def test_where_nothing_names_a_run_each_call_is_its_own(ax: AX) -> None:
    """No graph, no thread, no block."""
    made = wrap_tool(note, ax)
    made.invoke({"n": 1})
    made.invoke({"n": 1})
    assert all(task.run_id == task.id for task in ax.tasks().tasks)


def test_a_budget_refuses_the_call_and_the_agent_ends_by_itself(ax: AX, drive: Drive) -> None:
    """The model is told that nothing was done and to answer with what it has."""
    agent = agent_of(ax, *CALLS, "what I have")
    with ax.run(budget=Budget(tasks=2)) as run:
        result = drive(agent, said(), thread())
    assert [message.status for message in answers(result)] == ["success", "success", "error"]
    assert "budget" in told(result)[2] and "Do not call tools again" in told(result)[2]
    assert ax.tree(run.id).run.state is RunState.DEAD


def test_a_model_that_does_not_listen_is_raised_at(ax: AX, drive: Drive) -> None:
    """After three refusals the fourth raises BudgetExceeded to the host; no refusal cost an effect or a row."""
    agent = agent_of(ax, *[[("note", {"n": n})] for n in range(50)])
    with ax.run(budget=Budget(tasks=1)), pytest.raises(BudgetExceeded):
        drive(agent, said(), thread())
    state = agent.get_state(thread()).values
    assert [message.status for message in answers(state)] == ["success", "error", "error", "error"]
    assert len(ax.tasks().tasks) == 1


def test_runs_do_not_share_their_patience(ax: AX) -> None:
    """Refusals of one request do not make another's first refusal an exception."""
    for _ in range(3):
        agent = agent_of(ax, *CALLS, "what I have")
        with ax.run(budget=Budget(tasks=1)):
            assert [message.status for message in answers(agent.invoke(said(), thread()))][1:] == [
                "error",
                "error",
            ]


def test_parallel_calls_do_not_overshoot_a_budget(ax: AX, drive: Drive) -> None:
    """Eight calls in one message with one left: one runs, seven are refused, and they are told, not raised."""
    agent = agent_of(ax, [("note", {"n": n}) for n in range(8)], "done")
    with ax.run(budget=Budget(tasks=1)):
        result = drive(agent, said(), thread())
    assert sorted(message.status for message in answers(result)) == ["error"] * 7 + ["success"]


def test_a_second_chain_on_a_session_is_refused(ax: AX) -> None:
    """Who enters meanwhile is told at once; a call whose session was taken raises."""
    inside, go = threading.Event(), threading.Event()

    def hold() -> None:
        with ax.run(session="S"):
            inside.set()
            go.wait(20)

    holder = threading.Thread(target=hold)
    holder.start()
    try:
        assert inside.wait(10)
        with pytest.raises(SessionBusy), ax.run(session="S"):
            pass
    finally:
        go.set()
        holder.join()


def test_a_call_whose_session_was_taken_raises(ax: AX, clock: Skew, drive: Drive) -> None:
    """SessionBusy is for the host, not for the model: the chain is over."""
    inside, go = threading.Event(), threading.Event()

    def hold() -> None:
        with ax.run(session="S"):
            inside.set()
            go.wait(20)

    other = threading.Thread(target=hold)

    def meanwhile(messages: Any) -> Any:
        clock.ahead(3600)  # this chain stood still beyond its lease
        other.start()
        assert inside.wait(10)
        return CALLS[1]

    try:
        with ax.run(session="S"), pytest.raises(SessionBusy):
            drive(agent_of(ax, CALLS[0], meanwhile, "never"), said(), thread())
    finally:
        go.set()
        other.join()
    assert len(ax.tasks().tasks) == 1


def test_a_cancelled_run_stops_its_agent(ax: AX, drive: Drive) -> None:
    """The model is told to stop, and nothing more is done."""
    with ax.run() as run:

        def meanwhile(messages: Any) -> Any:
            ax.cancel(run.id)
            return CALLS[1]

        result = drive(agent_of(ax, CALLS[0], meanwhile, "done"), said(), thread())
    assert told(result)[0] == "noted 1"
    assert "ended" in told(result)[1] and "nothing was done" in told(result)[1]
    assert len(ax.tasks().tasks) == 1
