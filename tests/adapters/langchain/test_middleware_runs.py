"""What AXMiddleware does with the run of a turn: budgets, rounds, time, sessions, other processes."""

import asyncio
import threading
from pathlib import Path
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from ax_adapters.langchain import AXMiddleware
from ax_core import AX, Budget, BudgetExceeded, RunState, SessionBusy, TaskTimeout
from support.driving import Drive
from support.fresh import tick
from support.resuming import Life
from support.scripted import Scripted, answers, said, thread, told
from support.skew import Skew


@tool
def note(n: int) -> str:
    """Notes."""
    return f"noted {n}"


def agent_of(ax: AX, script: Any, *, tools: Any = (note,), model: Any = None, **options: Any) -> Any:
    """An agent with memory under the middleware."""
    return create_agent(
        model or Scripted(script=script),
        list(tools),
        middleware=[AXMiddleware(ax, **{"default_effect": "idempotent", **options})],
        checkpointer=InMemorySaver(),
    )


NOTES = [[("note", {"n": n})] for n in range(30)]


def the_run(ax: AX) -> Any:
    return ax.tree(ax.tasks().tasks[0].run_id).run


def test_a_budget_of_tasks_ends_the_agent(ax: AX, drive: Drive) -> None:
    """A model that does not listen to three refusals is not asked a fourth time: the agent ends with why."""
    result = drive(agent_of(ax, NOTES, budget=Budget(tasks=2)), said(), thread())
    assert [message.status for message in answers(result)] == [
        "success",
        "success",
        "error",
        "error",
        "error",
    ]
    assert "budget" in result["messages"][-1].text or "may do no more" in result["messages"][-1].text
    assert the_run(ax).state is RunState.DEAD


def test_decision_rounds_are_counted(ax: AX, drive: Drive) -> None:
    """The model is asked as often as the budget says; then the agent ends, every call answered."""
    result = drive(agent_of(ax, NOTES, budget=Budget(rounds=3)), said(), thread())
    assert told(result) == ["noted 0", "noted 1", "noted 2"]
    assert result["messages"][-1].additional_kwargs["ax_code"] == "budget_exceeded"


def test_a_budget_raises_where_asked(ax: AX, drive: Drive) -> None:
    """on_refusal="raise"."""
    with pytest.raises(BudgetExceeded):
        drive(agent_of(ax, NOTES, budget=Budget(rounds=3), on_refusal="raise"), said(), thread())


def test_an_enclosing_run_is_used(ax: AX, drive: Drive) -> None:
    """Inside ax.run there is no run of the middleware's own, and its rounds count against that one."""
    with ax.run(session="user-42", budget=Budget(rounds=2)) as run:
        result = drive(agent_of(ax, NOTES), said(), thread())
    assert told(result) == ["noted 0", "noted 1"]
    assert {task.run_id for task in ax.tasks().tasks} == {run.id}


def test_an_agent_inside_a_tool_counts_against_the_outer_run(ax: AX, drive: Drive) -> None:
    """A sub-agent's calls are children of the call that started it, in one budget."""
    inner = agent_of(ax, [NOTES[1], NOTES[2], "inner end"])

    @tool
    async def delegate(n: int) -> str:
        """Asks another agent."""
        return (await inner.ainvoke(said(), thread("inner")))["messages"][-1].text

    @tool("delegate")
    def delegating(n: int) -> str:
        """Asks another agent."""
        return inner.invoke(said(), thread("inner"))["messages"][-1].text

    made = delegate if drive.is_async else delegating
    result = drive(agent_of(ax, [[("delegate", {"n": 1})], "end"], tools=[made]), said(), thread())
    assert told(result) == ["inner end"]
    outer = next(task for task in ax.tasks().tasks if task.tool == "delegate")
    assert {task.parent_id for task in ax.tasks(tool="note").tasks} == {outer.id}
    assert ax.tree(outer.run_id).run.used_tasks == 3


def test_a_second_chain_on_a_thread_is_refused(ax: AX) -> None:
    """While a tool of the first runs, another turn on the same thread is told so at once; afterwards it may."""
    inside, go = threading.Event(), threading.Event()

    @tool
    def wait(n: int) -> str:
        """Waits."""
        inside.set()
        go.wait(20)
        return "waited"

    agent = agent_of(ax, [[("wait", {"n": 1})], "end"], tools=[wait])
    ends: list[Any] = []
    first = threading.Thread(target=lambda: ends.append(agent.invoke(said(), thread())))
    first.start()
    try:
        assert inside.wait(20)
        with pytest.raises(SessionBusy):
            agent_of(ax, ["hello"], tools=[wait]).invoke(said(), thread())
        assert (
            agent_of(ax, ["hello"], tools=[wait]).invoke(said(), thread("other"))["messages"][-1].text
            == "hello"
        )
    finally:
        go.set()
        first.join()
    assert ends[0]["messages"][-1].text == "end"
    assert agent_of(ax, ["hello"], tools=[wait]).invoke(said(), thread())["messages"][-1].text == "hello"


@pytest.mark.parametrize("where", ["tool", "model"])
def test_an_agent_that_fails_lets_its_session_go(where: str, ax: AX, drive: Drive) -> None:
    """The run is FAILED, and the next turn need not wait for a lease to end."""

    @tool
    def breaks(n: int) -> str:
        """Fails."""
        raise ConnectionError("x")

    def model_breaks(messages: Any) -> Any:
        raise ConnectionError("x")

    script = [NOTES[0], [("breaks", {"n": 1})] if where == "tool" else model_breaks]
    with pytest.raises(ConnectionError):
        drive(agent_of(ax, script, tools=[note, breaks]), said(), thread())
    assert the_run(ax).state is RunState.FAILED
    with ax.run(session="T"):
        pass


def test_a_failed_turn_that_is_resumed_is_the_same_run(ax: AX, drive: Drive) -> None:
    """invoke(None) goes on where it broke, in the run it broke in."""
    tries = []

    @tool
    def breaks(n: int) -> str:
        """Fails once."""
        tries.append(n)
        if len(tries) == 1:
            raise ConnectionError("x")
        return "mended"

    agent = agent_of(ax, [NOTES[0], [("breaks", {"n": 1})], "end"], tools=[note, breaks])
    with pytest.raises(ConnectionError):
        drive(agent, said(), thread())
    assert told(drive(agent, None, thread())) == ["noted 0", "mended"]
    assert len({task.run_id for task in ax.tasks().tasks}) == 1
    assert the_run(ax).state is RunState.DONE


def test_the_models_step_has_its_time(ax: AX, drive: Drive) -> None:
    """A model that hangs is given up on; no tool was called by it."""
    go = threading.Event()

    def hangs(messages: Any) -> str:
        go.wait(20)
        return "late"

    try:
        with pytest.raises(TaskTimeout, match=r"model's step took longer than 0\.2 s"):
            drive_free(drive, agent_of(ax, [hangs], model_timeout=0.2), go)
    finally:
        go.set()


def drive_free(drive: Drive, agent: Any, go: threading.Event) -> Any:
    """Drive it; a loop's own executor is not waited for with the model still in it."""
    if not drive.is_async:
        return agent.invoke(said(), thread())

    async def main() -> Any:
        try:
            return await agent.ainvoke(said(), thread())
        finally:
            go.set()

    return asyncio.run(main())


@pytest.mark.xdist_group("resuming")
@pytest.mark.parametrize("at", ["pay.after", "record.after_commit", "writes.before", "body.before"])
def test_killed_and_resumed_in_another_process(at: str, tmp_path: Path) -> None:
    """The next process enters the run that the dead one opened, and its session; nothing is done twice."""
    script = [[["pay", {"n": 1}]], [["pay", {"n": 2}]], "end"]
    life = Life(tmp_path, tools=["pay"], script=script, policies={"pay": "unsafe"}, middleware=True)
    assert life.run(kill_in=at) is None
    end = life.run(start=None if at != "writes.before" else "go")
    assert end is not None and end["last"] == "end"
    assert sorted(set(life.effects)) == sorted(life.effects)
    with AX(f"sqlite:///{tmp_path}/ax.db") as ax:
        runs = {task.run_id for task in ax.tasks().tasks}
        assert len(runs) == 1
        assert ax.tree(runs.pop()).run.session == "T"


def test_nothing_blocks_the_event_loop(ax: AX) -> None:
    """Blockbuster finds nothing, from the opening of the run to its end."""
    from blockbuster import blockbuster_ctx

    @tool
    async def quick(n: int) -> str:
        """Answers."""
        return "quick"

    agent = agent_of(ax, [[("quick", {"n": 1})], "end"], tools=[quick])

    async def main() -> Any:
        return await agent.ainvoke(said(), thread())

    with blockbuster_ctx():
        assert told(asyncio.run(main())) == ["quick"]


def test_a_pause_of_somebody_elses_is_noticed(ax: AX, clock: Skew, drive: Drive) -> None:
    """A middleware that asks a person after the model tells nobody; once no step came for five seconds the run is
    paused, from its last step on: its session is free and its wall time stands."""
    agent = create_agent(
        Scripted(script=[NOTES[0], [("note", {"n": 1})], "end"]),
        [note],
        middleware=[
            AXMiddleware(ax, budget=Budget(seconds=60)),
            HumanInTheLoopMiddleware({"note": True}),
        ],
        checkpointer=InMemorySaver(),
    )
    answer = Command(resume={"decisions": [{"type": "approve"}]})
    drive(agent, said(), thread())
    drive(agent, answer, thread())
    (task,) = ax.tasks().tasks
    clock.ahead(4)
    tick(ax)
    assert ax.tree(task.run_id).run.state is RunState.OPEN
    clock.ahead(2)
    tick(ax)
    assert ax.tree(task.run_id).run.state is RunState.PAUSED
    with ax.run(session="T"):
        pass
    clock.ahead(100)
    tick(ax)
    result = drive(agent, answer, thread())
    assert (told(result), result["messages"][-1].text) == (["noted 0", "noted 1"], "end")
    assert {each.run_id for each in ax.tasks().tasks} == {task.run_id}
    assert ax.tree(task.run_id).run.state is RunState.DONE


def test_a_slow_step_is_no_pause(ax: AX, clock: Skew, drive: Drive) -> None:
    """While a model or a tool is at work, the run is not let go of."""

    def slow(messages: Any) -> Any:
        clock.ahead(30)
        tick(ax)
        assert the_run(ax).state is RunState.OPEN
        return "end"

    drive(agent_of(ax, [NOTES[0], slow]), said(), thread())
    assert the_run(ax).state is RunState.DONE


@pytest.mark.parametrize("own", [None, 20.0], ids=["no limit of its own", "a larger one"])
def test_the_models_step_ends_with_the_runs_time(own: float | None, ax: AX, drive: Drive) -> None:
    """A model that hangs is given up on when the run has no time left; the agent ends with why."""
    go = threading.Event()

    def hangs(messages: Any) -> str:
        go.wait(20)
        return "late"

    try:
        agent = agent_of(ax, [NOTES[0], hangs], budget=Budget(seconds=1.0), model_timeout=own)
        result = drive_free(drive, agent, go)
    finally:
        go.set()
    assert told(result) == ["noted 0"]
    assert "wall time" in result["messages"][-1].text
    assert result["messages"][-1].additional_kwargs["ax_code"] == "budget_exceeded"
    assert the_run(ax).state is RunState.DEAD


def test_its_own_limit_still_counts_in_a_run_with_time(ax: AX, drive: Drive) -> None:
    """The smaller of the two."""
    go = threading.Event()

    def hangs(messages: Any) -> str:
        go.wait(20)
        return "late"

    try:
        with pytest.raises(TaskTimeout, match=r"longer than 0\.2 s"):
            drive_free(drive, agent_of(ax, [hangs], budget=Budget(seconds=60), model_timeout=0.2), go)
    finally:
        go.set()
