"""The host goes away in the middle of a call: what runs on is found again, what was cut off is told as that."""

import asyncio
import threading
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command, interrupt

from ax_adapters.langchain import wrap_tools
from ax_core import AX, Policy, State
from support.driving import Drive, Wrap, node_of
from support.scripted import Scripted, answers, asks, said, thread, told


async def cancelled(work: Any, inside: Any) -> None:
    """Cancel it once a body is inside."""
    running = asyncio.ensure_future(work)
    while not inside.is_set():
        await asyncio.sleep(0.005)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running


async def at_rest(ax: AX) -> None:
    """Until nothing runs any more."""
    while (await ax.atasks(state="RUNNING")).tasks:
        await asyncio.sleep(0.005)


def test_a_sync_tool_that_outlives_its_caller_is_not_run_again(ax: AX) -> None:
    """Cancelled under ainvoke its thread completes the effect; the resumed agent gets that result."""
    inside, go, bodies = threading.Event(), threading.Event(), []

    @tool
    def pay(n: int) -> str:
        """Pays."""
        bodies.append(n)
        inside.set()
        go.wait(30)
        return "paid"

    agent = create_agent(
        Scripted(script=[[("pay", {"n": 1})], "done"]), wrap_tools([pay], ax), checkpointer=InMemorySaver()
    )

    async def main() -> dict[str, Any]:
        await cancelled(agent.ainvoke(said(), thread()), inside)
        go.set()
        await at_rest(ax)
        return await agent.ainvoke(None, thread())

    assert told(asyncio.run(main())) == ["paid"]
    assert bodies == [1]


def test_whoever_resumes_while_it_still_runs_waits_for_it(ax: AX) -> None:
    """The resumed agent attaches to the running effect instead of starting another."""
    inside, go, bodies = threading.Event(), threading.Event(), []

    @tool
    def pay(n: int) -> str:
        """Pays."""
        bodies.append(n)
        inside.set()
        go.wait(30)
        return "paid"

    agent = create_agent(
        Scripted(script=[[("pay", {"n": 1})], "done"]), wrap_tools([pay], ax), checkpointer=InMemorySaver()
    )

    async def main() -> dict[str, Any]:
        await cancelled(agent.ainvoke(said(), thread()), inside)
        resumed = asyncio.ensure_future(agent.ainvoke(None, thread()))
        while (await ax.atasks()).tasks[0].state is not State.RUNNING:
            await asyncio.sleep(0.005)
        go.set()
        return await resumed

    assert told(asyncio.run(main())) == ["paid"]
    assert bodies == [1]


@pytest.mark.parametrize("policy", ["propagate", "detach"])
def test_an_async_tool_is_cut_off_or_let_finish(policy: str, ax: AX) -> None:
    """propagate passes the cancellation on, and the effect is in doubt; detach shields it, and its result is found."""
    bodies = []

    async def main() -> dict[str, Any]:
        inside, go = asyncio.Event(), asyncio.Event()

        @tool
        async def pay(n: int) -> str:
            """Pays."""
            bodies.append(n)
            inside.set()
            await go.wait()
            return "paid"

        made = wrap_tools([pay], ax, policies={"pay": Policy("unsafe", on_cancel=policy)})
        agent = create_agent(
            Scripted(script=[[("pay", {"n": 1})], "done"]), made, checkpointer=InMemorySaver()
        )
        await cancelled(agent.ainvoke(said(), thread()), inside)
        go.set()
        await at_rest(ax)
        return await agent.ainvoke(None, thread())

    (message,) = answers(asyncio.run(main()))
    assert bodies == [1]
    if policy == "detach":
        assert message.text == "paid"
    else:
        assert "UNKNOWN OUTCOME" in message.text


def test_a_failing_sibling_does_not_double_the_others(ax: AX) -> None:
    """One ToolNode, async: the sibling of a call that raised runs on, and on resume its result is found."""
    bodies: list[str] = []

    async def main() -> dict[str, Any]:
        go, inside = asyncio.Event(), asyncio.Event()

        @tool
        async def pay(n: int) -> str:
            """Pays, slowly."""
            bodies.append("pay")
            inside.set()
            await go.wait()
            return "paid"

        @tool
        async def breaks(n: int) -> str:
            """Fails once."""
            await inside.wait()
            bodies.append("breaks")
            if bodies.count("breaks") == 1:
                raise ConnectionError("x")
            return "mended"

        graph = node_of(*wrap_tools([pay, breaks], ax), saver=InMemorySaver())
        with pytest.raises(ConnectionError):
            await graph.ainvoke(
                {"messages": [asks(("pay", {"n": 1}, "p"), ("breaks", {"n": 1}, "b"))]}, thread()
            )
        go.set()
        await at_rest(ax)
        return await graph.ainvoke(None, thread())

    result = asyncio.run(main())
    assert bodies.count("pay") == 1
    assert told(result)[1] == "mended"


def test_a_cancelled_sibling_of_an_agent_is_in_doubt_and_not_repeated(ax: AX) -> None:
    """create_agent cancels the async siblings of a call that raised: an undeclared one is not run a second time."""
    bodies: list[str] = []

    async def main() -> dict[str, Any]:
        inside = asyncio.Event()

        @tool
        async def pay(n: int) -> str:
            """Pays, for ever."""
            bodies.append("pay")
            inside.set()
            await asyncio.sleep(60)
            return "never"

        @tool
        async def breaks(n: int) -> str:
            """Fails once."""
            await inside.wait()
            bodies.append("breaks")
            if bodies.count("breaks") == 1:
                raise ConnectionError("x")
            return "mended"

        script = [[("pay", {"n": 1}, "p"), ("breaks", {"n": 1}, "b")], "done"]
        agent = create_agent(
            Scripted(script=script), wrap_tools([pay, breaks], ax), checkpointer=InMemorySaver()
        )
        with pytest.raises(ConnectionError):
            await agent.ainvoke(said(), thread())
        await at_rest(ax)
        return await agent.ainvoke(None, thread())

    first, second = told(asyncio.run(main()))
    assert bodies.count("pay") == 1
    assert "UNKNOWN OUTCOME" in first
    assert second == "mended"


def test_a_call_that_was_cancelled_while_its_graph_paused_is_not_entered_on_resume(
    seam: Wrap, drive: Drive, ax: AX
) -> None:
    """The answer comes too late: the model is told, and the body does not go on."""
    bodies: list[str] = []

    @tool
    def ask(q: str) -> str:
        """Asks, then acts."""
        bodies.append("asked")
        interrupt(q)
        bodies.append("acted")
        return "acted"

    agent = create_agent(
        Scripted(script=[[("ask", {"q": "?"})], "done"]), [seam(ask)], checkpointer=InMemorySaver()
    )
    drive(agent, said(), thread())
    (task,) = ax.tasks().tasks
    assert ax.cancel(task.id, by="ops").state is State.CANCELLED
    (message,) = answers(drive(agent, Command(resume="yes"), thread()))
    assert message.status == "error" and "cancelled" in message.text.lower()
    assert bodies == ["asked"]
