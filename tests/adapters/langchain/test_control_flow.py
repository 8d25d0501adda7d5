"""How a call goes: loops, threads, interrupts, cancellation and retries as the framework has them."""

import asyncio
import threading
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware, ToolRetryMiddleware
from langchain_core.messages import AIMessage
from langchain_core.runnables import RunnableLambda
from langchain_core.tools import StructuredTool, Tool, tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.errors import GraphInterrupt, ParentCommand
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import Command, interrupt

from ax_core import AX, Policy, State
from support.driving import Drive, Wrap, alike, node_of
from support.hearing import Hearing
from support.sample_tools import add
from support.scripted import Scripted, asks, said, thread, told


def test_a_tool_may_interrupt(seam: Wrap, drive: Drive, ax: AX) -> None:
    """interrupt() in a body pauses the graph and gets its own answer; the task was paused, and is not a failure."""
    bodies = []

    @tool
    def ask(q: str) -> str:
        """Asks."""
        bodies.append("before")
        answer = interrupt({"q": q})
        bodies.append("after")
        return f"answer={answer}"

    agent = create_agent(
        Scripted(script=[[("ask", {"q": "?"})], "done"]), [seam(ask)], checkpointer=InMemorySaver()
    )
    paused = drive(agent, said(), thread())
    assert paused["__interrupt__"][0].value == {"q": "?"}
    (task,) = ax.tasks().tasks
    assert (task.state, task.reason) == (State.WAITING, "paused")
    assert told(drive(agent, Command(resume="yes"), thread())) == ["answer=yes"]
    assert bodies == ["before", "before", "after"]
    (task,) = ax.tasks().tasks
    assert (task.state, task.interruptions, ax.get(task.id).error) == (State.SUCCESS, 0, None)


def test_a_pause_is_neither_retried_nor_counted_as_a_failure(seam: Wrap, drive: Drive, ax: AX) -> None:
    """A policy with retries takes interrupt() for what it is: one body, one question, no failed attempt."""
    bodies = []

    @tool
    def ask(q: str) -> str:
        """Asks."""
        bodies.append(q)
        return f"answer={interrupt(q)}"

    made = seam(ask, policy=Policy("keyed", retries=3, backoff=0))
    agent = create_agent(Scripted(script=[[("ask", {"q": "?"})], "d"]), [made], checkpointer=InMemorySaver())
    drive(agent, said(), thread())
    assert bodies == ["?"]
    (task,) = ax.tasks().tasks
    assert (task.state, task.reason, ax.get(task.id).error) == (State.WAITING, "paused", None)
    assert told(drive(agent, Command(resume="yes"), thread())) == ["answer=yes"]
    assert (len(bodies), ax.get(task.id).state) == (2, State.SUCCESS)


@pytest.mark.parametrize("leave", [ParentCommand, GraphInterrupt, KeyboardInterrupt, SystemExit])
def test_what_leaves_a_node_passes_untouched(leave: type[BaseException], wrap: Wrap, ax: AX) -> None:
    """LangGraph's own and Python's own: the very exception, from one body, and no failure on record."""
    error, bodies = leave(()) if leave is GraphInterrupt else leave(Command(graph=Command.PARENT)), []

    @tool
    def go(a: int) -> str:
        """Leaves."""
        bodies.append(a)
        raise error

    with pytest.raises(leave) as left:
        wrap(go, policy=Policy("keyed", retries=3, backoff=0)).invoke({"a": 1})
    assert left.value is error
    assert bodies == [1]
    assert ax.get(ax.tasks().tasks[0].id).error is None


def test_a_command_to_the_parent_graph_reaches_it(seam: Wrap, drive: Drive, ax: AX) -> None:
    """Returned in a tool of a subgraph: the parent goes where it says, and the tool has succeeded, once."""
    bodies = []

    @tool
    def hand_off(to: str) -> Command:
        """Hands off."""
        bodies.append(to)
        return Command(graph=Command.PARENT, goto=to)

    inner = node_of(seam(hand_off, policy=Policy("unsafe", retries=3)))
    graph = StateGraph(MessagesState)
    graph.add_node("inner", inner)
    graph.add_node("other", lambda state: {"messages": [AIMessage("here")]})
    graph.add_edge(START, "inner")
    result = drive(graph.compile(), {"messages": [asks(("hand_off", {"to": "other"}))]})
    assert result["messages"][-1].text == "here"
    assert (bodies, ax.tasks().tasks[0].state) == (["other"], State.SUCCESS)


def test_an_async_only_tool_stays_so(wrap: Wrap) -> None:
    """ainvoke works; invoke raises what the bare tool raises."""

    @tool
    async def only(a: int) -> int:
        """Waits."""
        return a

    alike(only, wrap(only), {"a": 1})


def test_a_sync_tool_leaves_the_loop_free(wrap: Wrap) -> None:
    """Under ainvoke its body is on another thread, and the loop goes on meanwhile."""
    go = threading.Event()

    @tool
    def wait(a: int) -> str:
        """Waits for the loop."""
        assert go.wait(10)
        return threading.current_thread().name

    async def main() -> str:
        call = asyncio.create_task(wrap(wait).ainvoke({"a": 1}))
        await asyncio.sleep(0)
        go.set()  # a loop that is blocked never comes here
        return await call

    assert asyncio.run(main()) != threading.main_thread().name


def test_a_sync_call_inside_a_running_loop(wrap: Wrap) -> None:
    """It neither deadlocks nor raises, as in a notebook."""

    async def main() -> Any:
        return wrap(add).invoke({"a": 1})

    assert asyncio.run(asyncio.wait_for(main(), 20)) == 4


def test_an_async_tool_runs_on_its_callers_loop(wrap: Wrap) -> None:
    """So that clients and locks that belong to the loop can be used."""

    @tool
    async def where(a: int) -> int:
        """Looks."""
        return id(asyncio.get_running_loop())

    async def main() -> bool:
        return await wrap(where).ainvoke({"a": 1}) == id(asyncio.get_running_loop())

    assert asyncio.run(main())


def test_cancelling_reaches_the_coroutine(wrap: Wrap) -> None:
    """The caller is free at once, the body sees the cancellation, and callbacks hear what they hear of a bare one."""
    seen = []

    async def cancelled(under: Any) -> list[str]:
        started = asyncio.Event()

        @tool
        async def slow(a: int) -> str:
            """Waits."""
            started.set()
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                seen.append("cancelled")
                raise
            return "never"

        hearing = Hearing()
        call = asyncio.create_task(under(slow).ainvoke({"a": 1}, {"callbacks": [hearing]}))
        await asyncio.wait_for(started.wait(), 10)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asyncio.wait_for(call, 10)
        return hearing.kinds

    bare = asyncio.run(cancelled(lambda made: made))
    assert asyncio.run(cancelled(wrap)) == bare
    assert bare[0] == "start" and seen == ["cancelled"] * 2


@pytest.mark.parametrize("wide", [4, 64])
def test_parallel_calls_overlap_and_keep_their_order(wide: int, seam: Wrap) -> None:
    """All calls of a turn are inside their bodies at the same time."""

    async def main() -> dict[str, Any]:
        meet = asyncio.Barrier(wide)

        @tool
        async def meeting(x: int) -> str:
            """Waits for all the others."""
            async with asyncio.timeout(30):
                await meet.wait()
            return str(x)

        script = [[("meeting", {"x": n}) for n in range(wide)], "done"]
        return await create_agent(Scripted(script=script), [seam(meeting)]).ainvoke(said())

    assert told(asyncio.run(main())) == [str(n) for n in range(wide)]


def test_parallel_sync_calls_overlap(seam: Wrap) -> None:
    """On LangGraph's threads as well."""
    meet = threading.Barrier(4)

    @tool
    def meeting(x: int) -> str:
        """Waits for all the others."""
        meet.wait(20)
        return str(x)

    script = [[("meeting", {"x": n}) for n in range(4)], "done"]
    result = create_agent(Scripted(script=script), [seam(meeting)]).invoke(said(), {"max_concurrency": 8})
    assert told(result) == ["0", "1", "2", "3"]


def test_nothing_blocks_the_event_loop(wrap: Wrap) -> None:
    """Blockbuster, under which LangGraph's development server runs, finds nothing, from the very first call."""
    from blockbuster import blockbuster_ctx

    @tool
    async def quick(a: int) -> int:
        """Answers."""
        return a

    @tool
    def plain(a: int) -> int:
        """Answers."""
        return a

    first, second = wrap(quick), wrap(plain)

    async def main() -> list[Any]:
        return [await first.ainvoke({"a": 1}), await second.ainvoke({"a": 2}), await first.ainvoke({"a": 3})]

    with blockbuster_ctx():
        assert asyncio.run(main()) == [1, 2, 3]


def test_the_runnable_interface_is_whole(wrap: Wrap) -> None:
    """batch, pipes, with_config, with_retry, stream, run and arun."""
    made = wrap(add)
    assert made.batch([{"a": 1}, {"a": 2}]) == [4, 5]
    assert (RunnableLambda(lambda x: {"a": x}) | made).invoke(1) == 4
    assert made.with_config(tags=["z"]).invoke({"a": 1}) == 4
    assert made.with_retry(stop_after_attempt=2).invoke({"a": 1}) == 4
    assert list(made.stream({"a": 1})) == [4]
    assert (made.run({"a": 1}), asyncio.run(made.arun({"a": 1}))) == (4, 4)


def test_return_direct_ends_the_loop(seam: Wrap, drive: Drive) -> None:
    """The model is not asked again."""
    made = seam(StructuredTool.from_function(add.func, return_direct=True))
    result = drive(create_agent(Scripted(script=[[("add", {"a": 1})], "never"]), [made]), said())
    assert (result["messages"][-1].type, result["messages"][-1].content) == ("tool", "4")


def test_the_retry_middleware_really_tries_again(seam: Wrap, drive: Drive, ax: AX) -> None:
    """A failure is no final answer to the framework's own retries; all of them are attempts of one task."""
    tries = []

    @tool
    def flaky(a: int) -> str:
        """Fails twice."""
        tries.append(a)
        if len(tries) < 3:
            raise ConnectionError("x")
        return "ok"

    retry = ToolRetryMiddleware(max_retries=3, initial_delay=0.0, jitter=False)
    agent = create_agent(
        Scripted(script=[[("flaky", {"a": 1})], "done"]),
        [seam(flaky)],
        middleware=[retry],
        checkpointer=InMemorySaver(),
    )
    assert told(drive(agent, said(), thread())) == ["ok"]
    (task,) = ax.tasks().tasks
    assert (len(tries), task.attempts, task.state) == (3, 3, State.SUCCESS)


def test_a_middleware_that_asks_again_after_success_gets_a_new_answer(seam: Wrap) -> None:
    """The same call once more within one execution of the node is a new decision, not a memory."""
    bodies = []

    @tool
    def draw(a: int) -> str:
        """Draws."""
        bodies.append(a)
        return f"r{len(bodies)}"

    class Twice(AgentMiddleware):
        def wrap_tool_call(self, request: Any, handler: Any) -> Any:
            handler(request)
            return handler(request)

    agent = create_agent(
        Scripted(script=[[("draw", {"a": 1})], "done"]),
        [seam(draw)],
        middleware=[Twice()],
        checkpointer=InMemorySaver(),
    )
    assert told(agent.invoke(said(), thread())) == ["r2"]
    assert len(bodies) == 2


def test_the_legacy_executor_runs_the_same_input_twice(wrap: Wrap) -> None:
    """It tells tools nothing to go by, so the same input twice is two calls."""
    from langchain_classic.agents import AgentExecutor, create_react_agent
    from langchain_core.language_models.fake import FakeListLLM
    from langchain_core.prompts import PromptTemplate

    bodies: list[str] = []
    made = wrap(Tool("probe", lambda text: bodies.append(text) or "r", "p"))
    prompt = PromptTemplate.from_template("{tools} {tool_names} {input} {agent_scratchpad}")
    asked = "Thought: x\nAction: probe\nAction Input: hello"
    model = FakeListLLM(responses=[asked, asked, "Final Answer: z"])
    agent = create_react_agent(model, [made], prompt)
    out = AgentExecutor(agent=agent, tools=[made], return_intermediate_steps=True).invoke({"input": "q"})
    assert (out["output"], bodies, out["intermediate_steps"][0][1]) == ("z", ["hello", "hello"], "r")
