"""AXMiddleware: a whole agent under AX, none of whose tools is wrapped."""

# No postponed annotations here: LangChain reads the raw ones.
import inspect
from typing import Annotated, Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import (
    AgentMiddleware,
    HumanInTheLoopMiddleware,
    ToolCallLimitMiddleware,
    ToolRetryMiddleware,
)
from langchain.tools import InjectedState, ToolRuntime
from langchain_core.messages import ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command, interrupt

from ax_adapters.langchain import AXMiddleware, wrap_tool
from ax_core import AX, Effect, Policy, PolicyError, RunState, State
from support.driving import Drive, node_of
from support.scripted import Scripted, answers, asks, said, thread, told

Done = list[tuple[str, int]]


@pytest.fixture
def done() -> Done:
    return []


def tool_of(done: Done, name: str = "pay", error: Any = None) -> Any:
    """A tool that writes down what it did."""

    def body(n: int) -> str:
        """Acts."""
        done.append((name, n))
        if error is not None and len(done) < 3:
            raise error
        return f"{name} {n}"

    return tool(name)(body)


def agent_of(script: Any, tools: Any, *middleware: Any, saver: bool = True) -> Any:
    """An agent of these tools and middlewares."""
    checkpointer = InMemorySaver() if saver else None
    return create_agent(Scripted(script=script), tools, middleware=middleware, checkpointer=checkpointer)


PAY = [("pay", {"n": 1}, "p")]


@pytest.mark.parametrize("saver", [True, False], ids=["checkpointer", "none"])
def test_every_tool_is_recorded_and_the_turn_is_one_run(
    saver: bool, ax: AX, drive: Drive, done: Done
) -> None:
    """The run is opened with the agent and closed with it; the thread is its session."""
    agent = agent_of(
        [PAY, [("look", {"n": 2})], "end"],
        [tool_of(done), tool_of(done, "look")],
        AXMiddleware(ax),
        saver=saver,
    )
    result = drive(agent, said(), thread() if saver else None)
    assert told(result) == ["pay 1", "look 2"]
    assert result["messages"][-1].text == "end"
    assert "ax_run" not in result
    second, first = ax.tasks().tasks
    assert first.run_id == second.run_id
    run = ax.tree(first.run_id).run
    assert (run.state, run.used_tasks, run.session) == (RunState.DONE, 2, "T" if saver else None)


def test_each_turn_is_a_run_of_its_own(ax: AX, drive: Drive, done: Done) -> None:
    """The same UNSAFE call is merged within a turn and done again in the next."""
    agent = agent_of([PAY, PAY, "a", PAY, "b"], [tool_of(done)], AXMiddleware(ax, policies={"pay": "unsafe"}))
    for _ in range(2):
        result = drive(agent, said(), thread())
    assert done == [("pay", 1)] * 2
    assert "Nothing was executed again" in told(result)[1]
    assert len({task.run_id for task in ax.tasks().tasks}) == 2


def test_a_tool_that_is_wrapped_already_is_dispatched_once(ax: AX, drive: Drive, done: Done) -> None:
    """Its own policy stands."""
    made = wrap_tool(tool_of(done), ax, policy="idempotent")
    drive(agent_of([PAY, "end"], [made], AXMiddleware(ax, default_effect="read")), said(), thread())
    (task,) = ax.tasks().tasks
    assert (task.effect, done) == ("idempotent", [("pay", 1)])


def test_what_is_injected_still_is(ax: AX, drive: Drive) -> None:
    """State and runtime reach the tools, and neither is recorded; a forged one is dropped."""

    @tool
    def state(x: int, state: Annotated[dict, InjectedState]) -> str:
        """Counts."""
        return f"n={len(state['messages'])}"

    @tool
    def runtime(x: int, runtime: ToolRuntime) -> str:
        """Looks."""
        return runtime.tool_call_id

    script = [[("state", {"x": 1, "state": {}}, "1"), ("runtime", {"x": 2}, "2")], "end"]
    assert told(drive(agent_of(script, [state, runtime], AXMiddleware(ax)), said(), thread())) == ["n=2", "2"]
    assert sorted(task.payload["x"] for task in ax.tasks().tasks) == [1, 2]


def test_a_dynamic_tool_is_guarded_wherever_the_middleware_stands(ax: AX, drive: Drive, done: Done) -> None:
    """A tool that another middleware brings along goes through AX, before it or after it in the list."""
    brought = tool_of(done, "brought")

    class Brings(AgentMiddleware):
        def wrap_model_call(self, request: Any, handler: Any) -> Any:
            return handler(request.override(tools=[*request.tools, brought]))

        async def awrap_model_call(self, request: Any, handler: Any) -> Any:
            return await handler(request.override(tools=[*request.tools, brought]))

        def wrap_tool_call(self, request: Any, handler: Any) -> Any:
            return handler(request.override(tool=brought) if request.tool is None else request)

        async def awrap_tool_call(self, request: Any, handler: Any) -> Any:
            return await handler(request.override(tool=brought) if request.tool is None else request)

    for order in ([AXMiddleware(ax), Brings()], [Brings(), AXMiddleware(ax)]):
        result = drive(agent_of([[("brought", {"n": 1})], "end"], [tool_of(done)], *order), said(), thread())
        assert told(result) == ["brought 1"]
    assert len(ax.tasks(tool="brought").tasks) == 2


def test_an_unknown_tool_is_the_frameworks_to_answer(ax: AX, drive: Drive, done: Done) -> None:
    """A name that the model made up costs no record."""
    (message,) = answers(
        drive(agent_of([[("nope", {})], "end"], [tool_of(done)], AXMiddleware(ax)), said(), thread())
    )
    assert message.status == "error" and "not a valid tool" in message.text
    assert ax.tasks().tasks == ()


@pytest.mark.parametrize("first", [True, False], ids=["before", "after"])
def test_with_the_retry_middleware(first: bool, ax: AX, drive: Drive, done: Done) -> None:
    """Retries are attempts of one task, in either order."""
    pair = [AXMiddleware(ax), ToolRetryMiddleware(max_retries=3, initial_delay=0.0, jitter=False)]
    agent = agent_of(
        [PAY, "end"], [tool_of(done, error=ConnectionError("x"))], *(pair if first else pair[::-1])
    )
    assert told(drive(agent, said(), thread())) == ["pay 1"]
    (task,) = ax.tasks().tasks
    assert (task.attempts, task.state, len(done)) == (3, State.SUCCESS, 3)
    assert ax.tree(task.run_id).run.state is RunState.DONE


@pytest.mark.parametrize("first", [True, False], ids=["before", "after"])
def test_with_a_call_limit(first: bool, ax: AX, drive: Drive, done: Done) -> None:
    """What the limit refuses is never dispatched."""
    pair = [AXMiddleware(ax), ToolCallLimitMiddleware(run_limit=1)]
    script = [[("pay", {"n": 1}, "a"), ("pay", {"n": 2}, "b")], "end"]
    drive(agent_of(script, [tool_of(done)], *(pair if first else pair[::-1])), said(), thread())
    assert len(done) == len(ax.tasks().tasks) == 1


def reviewing(name: str, mode: str) -> HumanInTheLoopMiddleware:
    """LangChain's own approvals; older releases ask for all calls of a message at once, and know no other way."""
    if mode == "batched":
        return HumanInTheLoopMiddleware({name: True})
    if "interrupt_mode" not in inspect.signature(HumanInTheLoopMiddleware).parameters:
        pytest.skip("this langchain asks for all calls of a message at once")
    return HumanInTheLoopMiddleware({name: True}, interrupt_mode=mode)


@pytest.mark.parametrize("mode", ["batched", "per_call"])
@pytest.mark.parametrize("first", [True, False], ids=["before", "after"])
def test_with_human_in_the_loop(first: bool, mode: Any, ax: AX, drive: Drive, done: Done) -> None:
    """LangChain's own approvals pause and resume; an edited call is recorded as what was run."""
    pair = [AXMiddleware(ax), reviewing("pay", mode)]
    agent = agent_of([PAY, "end"], [tool_of(done)], *(pair if first else pair[::-1]))
    assert drive(agent, said(), thread())["__interrupt__"]
    assert ax.tasks().tasks == ()
    edit = {"type": "edit", "edited_action": {"name": "pay", "args": {"n": 5}}}
    result = drive(agent, Command(resume={"decisions": [edit]} if mode == "batched" else edit), thread())
    assert "pay 5" in told(result)[0]
    (task,) = ax.tasks().tasks
    assert (task.payload, done) == ({"n": 5}, [("pay", 5)])
    assert ax.tree(task.run_id).run.state is RunState.DONE


@pytest.mark.parametrize("first", [True, False], ids=["before", "after"])
def test_an_edit_that_names_another_tool_meets_that_tools_policy(
    first: bool, ax: AX, drive: Drive, done: Done
) -> None:
    """A reviewer's detour to a tool that needs approval still asks for it."""
    guard = AXMiddleware(ax, policies={"wipe": Policy(Effect.UNSAFE, confirm=True)})
    pair = [guard, HumanInTheLoopMiddleware({"pay": True})]
    agent = agent_of([PAY, "end"], [tool_of(done), tool_of(done, "wipe")], *(pair if first else pair[::-1]))
    drive(agent, said(), thread())
    edit = {"type": "edit", "edited_action": {"name": "wipe", "args": {"n": 9}}}
    (asked,) = drive(agent, Command(resume={"decisions": [edit]}), thread())["__interrupt__"]
    assert (asked.value["name"], done) == ("wipe", [])
    assert [(task.tool, task.state) for task in ax.tasks().tasks] == [("wipe", State.CONFIRMING)]
    drive(agent, Command(resume={"type": "reject"}), thread())
    assert done == []


def test_a_confirmation_pauses_the_run_and_frees_the_session(ax: AX, drive: Drive, done: Done) -> None:
    """While only a person is waited for, another chain may use the session; the resumed turn is the same run."""
    guard = AXMiddleware(ax, policies={"pay": Policy(Effect.UNSAFE, confirm=True)})
    agent = agent_of([PAY, "end"], [tool_of(done)], guard)
    drive(agent, said(), thread())
    (task,) = ax.tasks().tasks
    assert ax.tree(task.run_id).run.state is RunState.PAUSED
    with ax.run(session="T"):
        pass
    assert told(drive(agent, Command(resume="approve"), thread())) == ["pay 1"]
    assert ax.get(task.id).run_id == task.run_id
    assert ax.tree(task.run_id).run.state is RunState.DONE


def test_a_tools_own_interrupt_passes(ax: AX, drive: Drive) -> None:
    """It pauses the run, and its answer is its own."""

    @tool
    def ask(q: str) -> str:
        """Asks."""
        return f"answer={interrupt(q)}"

    agent = agent_of([[("ask", {"q": "?"})], "end"], [ask], AXMiddleware(ax))
    assert drive(agent, said(), thread())["__interrupt__"][0].value == "?"
    (task,) = ax.tasks().tasks
    assert (task.reason, ax.tree(task.run_id).run.state) == ("paused", RunState.PAUSED)
    assert told(drive(agent, Command(resume="yes"), thread())) == ["answer=yes"]
    assert ax.tree(task.run_id).run.state is RunState.DONE


def test_a_message_with_error_status_is_a_failure(ax: AX, drive: Drive) -> None:
    """A tool that says no without raising has not succeeded; the model reads its own words."""

    @tool
    def pay(n: int) -> ToolMessage:
        """Refuses."""
        return ToolMessage("no funds", tool_call_id="p", status="error")

    (message,) = answers(drive(agent_of([PAY, "end"], [pay], AXMiddleware(ax)), said(), thread()))
    assert (message.text, message.status) == ("no funds", "error")
    (task,) = ax.tasks().tasks
    assert task.state is State.FAILED
    assert task.error is not None and "no funds" in task.error["message"]


def test_the_same_for_a_tool_node(ax: AX, drive: Drive, done: Done) -> None:
    """Its slots for wrappers take the middleware's methods; there each call belongs to the last human message's run."""
    guard = AXMiddleware(ax, policies={"pay": "unsafe"})
    graph = node_of(
        tool_of(done),
        saver=InMemorySaver(),
        wrap_tool_call=guard.wrap_tool_call,
        awrap_tool_call=guard.awrap_tool_call,
    )
    asked = asks(("pay", {"n": 1}, "a"), ("pay", {"n": 1}, "b"))
    result = drive(graph, {"messages": [("user", "go"), asked]}, thread())
    assert len(answers(result)) == 2
    assert done == [("pay", 1)]


@pytest.mark.parametrize(
    ("options", "told_as"),
    [
        ({"policies": {"pay": {"confirms": True}}}, "'confirms' is unknown"),
        ({"default_effect": "raed"}, "did you mean 'read'"),
        ({"timeout": -1}, "timeout=-1"),
        ({"on_refusal": "rais"}, "on_refusal='rais'"),
        ({"on_busy": "wiat"}, "on_busy='wiat'"),
        ({"model_timeout": 0}, "model_timeout=0"),
    ],
    ids=str,
)
def test_an_invalid_option_is_an_error_at_once(options: Any, told_as: str, ax: AX) -> None:
    """Before there is an agent."""
    with pytest.raises(PolicyError) as caught:
        AXMiddleware(ax, **options)
    assert told_as in str(caught.value)


def test_a_policy_for_a_tool_that_the_agent_lacks_is_warned_of(
    ax: AX, drive: Drive, caplog: pytest.LogCaptureFixture
) -> None:
    """A misspelt name in policies= must not be found out by the second refund."""
    guarded = AXMiddleware(ax, policies={"refnud": "unsafe"})
    agent = create_agent(Scripted(script=["done"]), [tool_of([])], middleware=[guarded])
    drive(agent, {"messages": [("user", "go")]})
    assert "refnud" in caplog.text
