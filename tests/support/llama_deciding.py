"""A person at work beside a LlamaIndex workflow: each card is answered as the test says."""

# No postponed annotations: LlamaIndex compares the raw ones of a tool with Context.
import asyncio
from collections.abc import Callable
from typing import Any

from llama_index.core.agent.workflow import ToolCallResult

from ax_adapters.llama_index import ApprovalDecision, ApprovalRequired
from support.llama import ask

Decide = Callable[[ApprovalRequired], ApprovalDecision | None]


async def turn(handler: Any, decide: Decide, cards: list[ApprovalRequired] | None = None) -> list[Any]:
    """See a turn through, answering each card; what the tools told the model."""
    found = []
    async for event in handler.stream_events():
        if isinstance(event, ApprovalRequired):
            if cards is not None:
                cards.append(event)
            if (said := decide(event)) is not None:
                handler.ctx.send_event(said)
        if isinstance(event, ToolCallResult):
            found.append(event.tool_output)
    await handler
    return found


def decided(tool: Any, decide: Decide, args: Any = None, cards: Any = None) -> Any:
    """What one call told the model, once it was decided."""

    async def main() -> Any:
        handler = ask(tool, args or {"order": "7", "amount": 10}).run("go")
        (output,) = await asyncio.wait_for(turn(handler, decide, cards), 10)
        return output

    return asyncio.run(main())
