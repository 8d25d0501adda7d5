"""Nothing blocks the event loop: agents run under blockbuster, as LangGraph's development server does."""

import asyncio
import time
from pathlib import Path
from typing import Any

import pytest
from blockbuster import blockbuster_ctx
from langchain.agents import create_agent
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from ax_adapters.langchain import AXControlToolkit, AXMiddleware, AXToolkit, wrap_tools
from ax_core import AX, Policy
from support import script
from support.fresh import fresh
from support.scripted import Scripted, answers

THREAD = {"configurable": {"thread_id": "T"}}
SCRIPT = [
    [("quick", {"n": 1}), ("plain", {"n": 1}), ("nap", {"n": 1}), ("pay", {"n": 1})],
    [("pay", {"amount": 2}), ("square", {"n": 3}), ("ax_pending", {}), ("ax_status", {"task_id": "x"})],
    [("ax_cancel", {})],
    "done",
]


@tool
async def quick(n: int) -> str:
    """Answers."""
    return "quick"


@tool
def plain(n: int) -> str:
    """Answers on a thread."""
    return "plain"


@tool
def nap(n: int) -> str:
    """Takes its time, of which it has enough."""
    time.sleep(0.01)
    return "nap"


@tool
async def pay(n: int) -> str:
    """Pays, once a person has approved."""
    return "paid"


POLICIES: dict[str, Any] = {
    "quick": "read",
    "plain": "read",
    "nap": Policy("read", timeout=20),
    "pay": Policy("unsafe", confirm=True),
}


@pytest.mark.parametrize("way", ["wrapped", "middleware"])
def test_no_blocking_call_on_the_loop(way: str, tmp_path: Path) -> None:
    """Tools of each kind, an approval, a refusal, the registered tools and an agent's own verbs, on a file: from the
    opening of the store to the end of the run."""

    async def main(ax: AX) -> list[Any]:
        bare = [quick, plain, nap, pay]
        tools = wrap_tools(bare, ax, policies=POLICIES) if way == "wrapped" else bare
        middleware = [AXMiddleware(ax, policies=POLICIES)] if way == "middleware" else []
        tools = [*tools, *AXToolkit(ax).get_tools(), *AXControlToolkit(ax).get_tools()]
        agent = create_agent(
            Scripted(script=SCRIPT), tools, middleware=middleware, checkpointer=InMemorySaver()
        )
        with blockbuster_ctx():
            paused = await agent.ainvoke({"messages": [("user", "go")]}, THREAD)
            (asked,) = paused["__interrupt__"]
            assert await ax.aget(asked.value["ax_task_id"])
            return answers(await agent.ainvoke(Command(resume={"type": "approve"}), THREAD))

    with fresh(path=tmp_path / "ax.db") as ax:

        @ax.tool(effect="read")
        def square(n: int) -> int:
            """A tool of AX's own."""
            return n * n

        told = asyncio.run(main(ax))
    assert {each.name: each.text for each in told if each.status == "success"}.items() >= {
        ("quick", "quick"), ("plain", "plain"), ("nap", "nap"), ("pay", "paid"), ("square", "9"),
    }  # fmt: skip
    assert [each.name for each in told if each.status == "error"] == ["pay"]
    assert {each.name for each in told} >= {"ax_pending", "ax_status", "ax_cancel"}


def test_not_even_the_first_use_blocks_it(tmp_path: Path) -> None:
    """A process that has just started: the store is opened and migrated while the loop goes on."""
    code = f"""
import asyncio
from blockbuster import blockbuster_ctx
from langchain.agents import create_agent
from langchain_core.tools import tool
from ax_adapters.langchain import AXMiddleware
from ax_core import AX
from support.scripted import Scripted, told

@tool
def add(a: int) -> int:
    "Adds."
    return a + 3

made = AXMiddleware(AX("sqlite:///{tmp_path}/ax.db"), default_effect="read")
agent = create_agent(Scripted(script=[[("add", {{"a": 1}})], "done"]), [add], middleware=[made])

async def main():
    with blockbuster_ctx():
        print(told(await agent.ainvoke({{"messages": [("user", "go")]}})))

asyncio.run(main())
"""
    assert script.run(code, tmp_path, PYTHONWARNINGS="ignore") == "['4']"
