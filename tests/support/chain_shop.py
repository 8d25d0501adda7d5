"""The program of workers that run wrapped LangChain tools."""

from __future__ import annotations

import asyncio
import os
from typing import Any

from langchain_core.runnables import RunnableConfig
from langchain_core.tools import tool

from ax_adapters.langchain import wrap_tools
from ax_core import AX, Effect, Policy, current
from support.outside import Outside

ax = AX(
    os.environ["SHOP_URL"],
    queue=os.environ["SHOP_QUEUE"],
    imports=["support.chain_shop"],
    lease=3,
    heartbeat=1,
)
world = Outside(int(os.environ["SHOP_WORLD"]))
loops: set[asyncio.AbstractEventLoop] = set()


@tool
def refund(order: str, amount: int) -> dict[str, Any]:
    """Refund an order."""
    subject = {"subject": order, "task": current().task_id, "attempt": current().attempt, "pid": os.getpid()}
    return world.ask("unsafe", **subject)


@tool
async def look(order: str) -> dict[str, Any]:
    """Look an order up, and tell on how many event loops that was done so far."""
    loops.add(asyncio.get_running_loop())
    return {"order": order, "pid": os.getpid(), "loops": len(loops)}


@tool(response_format="content_and_artifact")
def invoice(order: str) -> tuple[str, dict[str, Any]]:
    """An invoice with its data."""
    return f"invoice of {order}", {"pid": os.getpid()}


@tool
def whoami(config: RunnableConfig) -> dict[str, Any]:
    """Which thread this is."""
    return {"thread": config["configurable"].get("thread_id"), "pid": os.getpid()}


@tool
def broken(order: str) -> str:
    """A tool that raises."""
    raise ValueError(f"no order {order}")


tools = wrap_tools(
    [refund, look, invoice, whoami, broken],
    ax,
    policies={
        "refund": Policy(Effect.UNSAFE),
        "look": "read",
        "invoice": "read",
        "whoami": "read",
        "broken": "read",
    },
)
