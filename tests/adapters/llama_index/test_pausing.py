"""A tool that waits for an event pauses as it does without AX, and goes on when that comes."""

# No postponed annotations: LlamaIndex compares the raw ones of a tool with Context.
import asyncio
from typing import Any

import pytest
from llama_index.core.agent.workflow import ToolCallResult
from llama_index.core.tools import BaseTool, FunctionTool
from llama_index.core.workflow import Context, HumanResponseEvent, InputRequiredEvent

from ax_core import AX
from support.llama import Saved, Wrap, agent, ask


def asking(seen: list[str]) -> FunctionTool:
    async def ask_person(ctx: Context, q: str) -> str:
        """Ask a person."""
        seen.append("before")
        answer = await ctx.wait_for_event(
            HumanResponseEvent, waiter_id="w", waiter_event=InputRequiredEvent(prefix=q)
        )
        seen.append("after")
        return answer.response

    return FunctionTool.from_defaults(async_fn=ask_person)


async def answered(handler: Any, response: str) -> list[str]:
    found = []
    async for event in handler.stream_events():
        if isinstance(event, InputRequiredEvent):
            handler.ctx.send_event(HumanResponseEvent(response=response))
        if isinstance(event, ToolCallResult):
            found.append(event.tool_output.content)
    await handler
    return found


@pytest.mark.parametrize("effect", [None, "read", "unsafe"])
def test_a_tool_asks_and_goes_on(effect: str | None, wrap: Wrap, ax: AX) -> None:
    """The pause is no failure and no doubt, whatever the tool declares: it is one task, that succeeds in the end."""
    seen: list[str] = []
    wrapped = wrap(asking(seen), policy=effect)

    async def main() -> list[str]:
        return await asyncio.wait_for(answered(ask(wrapped, {"q": "?"}).run("go"), "yes"), 10)

    assert asyncio.run(main()) == ["yes"]
    assert seen == ["before", "before", "after"]
    (task,) = ax.tasks().tasks
    assert str(task.state) == "SUCCESS"


def test_while_it_waits_it_is_on_record_as_waiting(wrap: Wrap, ax: AX) -> None:
    """WAITING, paused: nothing a person has to look into."""

    async def main() -> tuple[str, str | None]:
        handler = ask(wrap(asking([])), {"q": "?"}).run("go")
        async for event in handler.stream_events():
            if isinstance(event, InputRequiredEvent):
                break
        (task,) = (await ax.atasks()).tasks
        await handler.cancel_run()
        return str(task.state), task.reason

    assert asyncio.run(main()) == ("WAITING", "paused")


def test_it_goes_on_from_a_serialised_context(wrap: Wrap, ax: AX) -> None:
    """Cancelled while it waits, restored from text, answered there: the same task goes on."""

    async def main() -> str:
        made = ask(wrap(asking([])), {"q": "?"})
        handler = made.run("go")
        async for event in handler.stream_events():
            if isinstance(event, InputRequiredEvent):
                saved = Saved.of(handler.ctx)
                await handler.cancel_run()
                break
        handler = made.run(ctx=Saved.again(made, saved))
        handler.ctx.send_event(HumanResponseEvent(response="yes"))
        return str(await asyncio.wait_for(handler, 10))

    assert asyncio.run(main()) == "done"
    (task,) = ax.tasks().tasks
    assert str(task.state) == "SUCCESS"


def test_a_sibling_of_a_waiting_call_runs_once(wrap: Wrap, ax: AX) -> None:
    """Only the waiting call is executed again."""
    paid: list[int] = []

    def pay(n: int) -> str:
        """Pay."""
        paid.append(n)
        return "paid"

    tools: list[BaseTool] = [wrap(asking([])), wrap(FunctionTool.from_defaults(pay))]
    made = agent(tools, [("ask_person", {"q": "?"}), ("pay", {"n": 1})], "done")

    async def main() -> list[str]:
        return await asyncio.wait_for(answered(made.run("go"), "yes"), 10)

    assert sorted(asyncio.run(main())) == ["paid", "yes"]
    assert paid == [1]
