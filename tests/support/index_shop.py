"""The program of workers that run wrapped LlamaIndex tools."""

from __future__ import annotations

import os
from typing import Any

from llama_index.core.tools import FunctionTool

from ax_adapters.llama_index import wrap_tools
from ax_core import AX, Effect, Policy, current
from support.outside import Outside

ax = AX(
    os.environ["SHOP_URL"],
    queue=os.environ["SHOP_QUEUE"],
    imports=["support.index_shop"],
    lease=3,
    heartbeat=1,
)
world = Outside(int(os.environ["SHOP_WORLD"]))


def refund(order: str, amount: int) -> dict[str, Any]:
    """Refund an order."""
    subject = {"subject": order, "task": current().task_id, "attempt": current().attempt, "pid": os.getpid()}
    return world.ask("unsafe", **subject)


async def look(order: str) -> str:
    """Look an order up."""
    return f"{order} by {os.getpid()}"


def broken(order: str) -> str:
    """A tool that raises."""
    raise ValueError(f"no order {order}")


tools = wrap_tools(
    [
        FunctionTool.from_defaults(refund),
        FunctionTool.from_defaults(async_fn=look),
        FunctionTool.from_defaults(broken),
    ],
    ax,
    policies={"refund": Policy(Effect.UNSAFE), "look": "read", "broken": "read"},
)
