"""sync_bridge: a tool that has an async form only, called synchronously."""

# No postponed annotations: LangChain reads RunnableConfig from the raw ones.
import asyncio
import contextvars
import threading
import time
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.runnables import RunnableConfig, RunnableLambda
from langchain_core.tools import BaseTool, StructuredTool, ToolException, tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command, interrupt

from ax_adapters.langchain import AXMiddleware, wrap_tool, wrap_tools
from ax_core import AX, State
from support.driving import call_of
from support.scripted import Scripted, said, thread, told

USER = contextvars.ContextVar("user", default="nobody")


@tool
async def soon(a: int) -> str:
    """Answers soon."""
    await asyncio.sleep(0.001)
    return f"{a} for {USER.get()}"


class Class(BaseTool):
    """A class tool whose sync form only refuses."""

    name: str = "klass"
    description: str = "d"

    def _run(self, a: int) -> str:
        raise NotImplementedError(f"{self.name} is async")

    async def _arun(self, a: int, config: RunnableConfig) -> str:
        await asyncio.sleep(0)
        return f"{a} {config['configurable']['who']}"


def test_without_it_the_answer_is_as_bare(ax: AX) -> None:
    """A swap-in changes nothing that was not asked for."""
    for each in (soon, Class()):
        with pytest.raises(NotImplementedError) as bare:
            each.invoke({"a": 1})
        with pytest.raises(NotImplementedError) as wrapped:
            wrap_tool(each, ax).invoke({"a": 1})
        assert str(wrapped.value) == str(bare.value)


@pytest.mark.parametrize("timeout", [None, 20.0])
def test_it_runs_with_its_callers_context(ax: AX, timeout: float | None) -> None:
    """Context variables and configuration are the caller's; so is the record."""
    made, klass = wrap_tools([soon, Class()], ax, sync_bridge=True, timeout=timeout)
    USER.set("Ada")
    assert made.invoke({"a": 1}) == "1 for Ada"
    assert klass.invoke({"a": 2}, {"configurable": {"who": "Bob"}}) == "2 Bob"
    assert made.invoke(call_of(made, {"a": 3})).content == "3 for Ada"
    assert {task.state for task in ax.tasks().tasks} == {State.SUCCESS}
    assert asyncio.run(made.ainvoke({"a": 1})) == "1 for Ada"


def test_under_a_running_loop(ax: AX) -> None:
    """As in a notebook: the loop that runs there is neither needed nor in the way."""
    made = wrap_tool(soon, ax, sync_bridge=True)

    async def cell() -> Any:
        return made.invoke({"a": 1})

    assert asyncio.run(cell()).startswith("1")


def test_children_nest_under_the_call(ax: AX) -> None:
    """Callbacks see one start, one end, and what the body calls as its child."""
    seen: list[tuple[str, Any, Any]] = []

    class Ears(BaseCallbackHandler):
        def on_tool_start(self, *_: Any, run_id: Any, **__: Any) -> None:
            seen.append(("tool", run_id, None))

        def on_tool_end(self, *_: Any, run_id: Any, **__: Any) -> None:
            seen.append(("end", run_id, None))

        def on_chain_start(self, *_: Any, run_id: Any, parent_run_id: Any = None, **__: Any) -> None:
            seen.append(("chain", run_id, parent_run_id))

    async def body(a: int) -> int:
        return await RunnableLambda(lambda x: x).ainvoke(a)

    made = wrap_tool(
        StructuredTool.from_function(coroutine=body, name="b", description="d"), ax, sync_bridge=True
    )
    assert made.invoke({"a": 1}, {"callbacks": [Ears()]}) == 1
    assert [kind for kind, *_ in seen] == ["tool", "chain", "end"]
    assert seen[1][2] == seen[0][1]


def test_its_exceptions_are_its_own(ax: AX) -> None:
    """With type and the framework's own handling."""

    @tool
    async def fails(a: int) -> str:
        """Fails."""
        raise ToolException("no such thing")

    fails.handle_tool_error = True
    made = wrap_tool(fails, ax, sync_bridge=True)
    message = made.invoke(call_of(made, {"a": 1}))
    assert (message.content, message.status) == ("no such thing", "error")
    fails.handle_tool_error = False
    with pytest.raises(ToolException):
        made.invoke({"a": 1})


def test_a_timeout_frees_the_caller(ax: AX) -> None:
    """And the body is cancelled."""
    ended = threading.Event()

    @tool
    async def hangs(a: int) -> str:
        """Hangs."""
        try:
            await asyncio.sleep(30)
        finally:
            ended.set()
        return "never"

    made = wrap_tool(hangs, ax, policy={"effect": "read", "timeout": 0.1}, sync_bridge=True)
    began = time.monotonic()
    assert made.invoke(call_of(made, {"a": 1})).status == "error"
    assert time.monotonic() - began < 10
    assert ended.wait(10)


@pytest.mark.parametrize("door", ["wrapped", "middleware"])
def test_a_sync_agent_pauses_in_it(ax: AX, door: str) -> None:
    """interrupt() in an async tool under agent.invoke."""

    @tool
    async def ask(q: str) -> str:
        """Asks."""
        return f"answer: {interrupt(q)}"

    wrapped = door == "wrapped"
    agent = create_agent(
        Scripted(script=[[("ask", {"q": "?"})], "done"]),
        [wrap_tool(ask, ax, sync_bridge=True) if wrapped else ask],
        middleware=[] if wrapped else [AXMiddleware(ax, sync_bridge=True)],
        checkpointer=InMemorySaver(),
    )
    assert agent.invoke(said(), thread())["__interrupt__"][0].value == "?"
    assert told(agent.invoke(Command(resume="yes"), thread())) == ["answer: yes"]


def test_it_changes_nothing_for_tools_that_have_a_sync_form(ax: AX) -> None:
    """Nor for one that raises NotImplementedError after it did something."""
    did: list[int] = []

    class Half(BaseTool):
        name: str = "half"
        description: str = "d"

        def _run(self, a: int) -> str:
            did.append(a)
            raise NotImplementedError

        async def _arun(self, a: int) -> str:
            return "async"

    with pytest.raises(NotImplementedError):
        wrap_tool(Half(), ax, sync_bridge=True).invoke({"a": 1})
    assert did == [1]
