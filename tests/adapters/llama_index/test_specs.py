"""Tool specs: one's own under AX, the registered tools, and what an agent may ask of its own calls."""

# No postponed annotations: LlamaIndex compares the raw ones of a tool with Context.
import asyncio
import tomllib
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from llama_index.core.agent.workflow import ToolCallResult
from llama_index.core.tools import FunctionTool
from llama_index.core.tools.tool_spec.base import BaseToolSpec

from ax_adapters.llama_index import (
    ApprovalRequired,
    AXControlToolSpec,
    AXToolSpec,
    wrap_spec,
    wrap_tool,
    wrap_tools,
)
from ax_core import AX, InvalidArguments, Policy, PolicyError, UnknownTool
from support.llama import Call, agent, ask, outputs
from support.llama_tools import ADD, Spec


def test_a_spec_gives_wrapped_tools(ax: AX) -> None:
    """Functions, pairs and coroutine functions, over the one live state; the spec itself stays bare."""
    spec = Spec()
    wrapped = wrap_spec(spec, ax, default_effect="read")
    assert isinstance(wrapped, Spec)
    tools = wrapped.to_tool_list()
    bare = spec.to_tool_list()
    assert [tool.metadata.to_openai_tool() for tool in tools] == [
        tool.metadata.to_openai_tool() for tool in bare
    ]
    spec.state = 6
    assert tools[0].call(a=1).raw_output == 7
    assert asyncio.run(tools[1].acall(a=1)).raw_output == 101
    assert tools[1].call(a=1).raw_output == 1
    assert tools[2].call(a=2).raw_output == 6
    assert len(ax.tasks().tasks) == 4
    bare[0].call(a=1)
    assert len(ax.tasks().tasks) == 4


def test_a_list_of_a_specs_tools_and_the_spec_itself_can_be_wrapped(ax: AX) -> None:
    """wrap_tools takes both."""
    for given in (Spec(), Spec().to_tool_list()):
        tools = wrap_tools(given, ax, policies={"one": "read"})
        assert [tool.metadata.name for tool in tools] == ["one", "two", "three"]


def test_a_spec_is_listed_as_often_as_one_likes(ax: AX) -> None:
    """Whole, in part, from a thread; policies are those given, and wrapping again changes nothing."""
    wrapped = wrap_spec(Spec(), ax, policies={"one": "read", "two": "idempotent"})
    assert wrap_spec(wrapped, ax) is wrapped
    for tools in (wrapped.to_tool_list(["two"]), asyncio.run(asyncio.to_thread(wrapped.to_tool_list))):
        assert all(hasattr(type(tool), "__ax_binding__") for tool in tools)
    assert ax.tools.get("two").policy.effect == "idempotent"


@pytest.mark.parametrize(
    ("spec", "more", "reason"),
    [
        (Spec(), {"policies": {"onne": "read"}}, "did you mean 'one'"),
        (Spec(), {"policies": {"one": "raed"}}, "one"),
        (Spec(), {"on_refusal": "shrug"}, "shrug"),
        ([], {}, "wrap_tools"),
    ],
)
def test_a_spec_that_cannot_be_wrapped_is_told_at_once(spec: Any, more: Any, reason: str, ax: AX) -> None:
    """Not when its tools are listed."""
    with pytest.raises(PolicyError, match=reason):
        wrap_spec(spec, ax, **more)


def test_a_spec_that_names_what_it_does_not_have(ax: AX) -> None:
    """Told as the spec's fault."""

    class Broken(BaseToolSpec):
        spec_functions = ["gone"]

    with pytest.raises(PolicyError, match="Broken"):
        wrap_spec(Broken(), ax)


@pytest.fixture
def ordered() -> list[Any]:
    return []


@pytest.fixture
def shop(ax: AX, ordered: list[Any]) -> AX:
    @ax.tool(effect="unsafe")
    def refund(order: str, amount: int = 1) -> dict[str, Any]:
        """Refund an order."""
        ordered.append((order, amount))
        return {"order": order, "amount": amount}

    @ax.tool(effect="read")
    async def look(order: str) -> str:
        """Look an order up."""
        return f"order {order}"

    return ax


def test_registered_tools_are_an_agents(shop: AX, ordered: list[Any]) -> None:
    """Name, description and schema as registered; an agent calls them through AX, and its calls are known again."""
    tools = AXToolSpec(shop).to_tool_list()
    assert [tool.metadata.name for tool in tools] == ["refund", "look"]
    assert tools[0].metadata.description == "Refund an order."
    sent = tools[0].metadata.to_openai_tool()["function"]["parameters"]
    assert sent["properties"] == shop.tools.get("refund").schema["properties"]
    assert sent["required"] == ["order"]
    made = agent(tools, [("refund", {"order": "7"}, "a"), ("look", {"order": "7"}, "b")], "done")
    answers = {each.tool_name: each for each in asyncio.run(outputs(made))}
    assert answers["refund"].raw_output == {"order": "7", "amount": 1}
    assert answers["look"].content == "order 7"
    assert ordered == [("7", 1)]
    assert all(task.request_id for task in shop.tasks().tasks)


def test_registered_tools_are_called_sync_and_async(shop: AX, call: Call) -> None:
    """Also the async one from sync code, by position and by name."""
    refund, look = AXToolSpec(shop).to_tool_list()
    assert call(look, "7").content == "order 7"
    assert call(refund, "7", amount=2).raw_output == {"order": "7", "amount": 2}
    assert isinstance(call(refund, order="7", amount="x").exception, InvalidArguments)


def test_a_registered_tool_asks_a_person(ax: AX) -> None:
    """As a wrapped one does."""

    @ax.tool(policy=Policy("unsafe", confirm=True))
    def wipe(name: str) -> str:
        """Wipe."""
        return f"wiped {name}"

    async def main() -> list[str]:
        handler = agent(AXToolSpec(ax).to_tool_list(), [("wipe", {"name": "x"})], "done").run("go")
        found = []
        async for event in handler.stream_events():
            if isinstance(event, ApprovalRequired):
                handler.ctx.send_event(event.answer("approve", by="ann"))
            if isinstance(event, ToolCallResult):
                found.append(event.tool_output.content)
        await handler
        return found

    assert asyncio.run(main()) == ["wiped x"]


def test_which_of_the_registered_tools(shop: AX) -> None:
    """Those named; by default all that AX can run itself, later ones too, and no undo of another."""
    shop.register(lambda: None, name="keep", policy=Policy("unsafe", compensate=lambda args, result: None))
    wrap_tool(ADD, shop)
    spec = AXToolSpec(shop)
    assert [tool.metadata.name for tool in spec.to_tool_list()] == ["refund", "look", "keep"]
    assert [tool.metadata.name for tool in AXToolSpec(shop, ["look"]).to_tool_list()] == ["look"]
    with pytest.raises(UnknownTool, match="refund"):
        AXToolSpec(shop, ["refnd"])
    with pytest.raises(PolicyError, match="wrapped tool"):
        AXToolSpec(shop, ["add"])


def test_wrapping_a_registered_tool_leaves_it_as_it_is(shop: AX) -> None:
    """It goes through AX already."""
    tools = [*AXToolSpec(shop).to_tool_list(), *AXControlToolSpec(shop).to_tool_list()]
    assert wrap_tools(tools, shop) == tools


def test_an_agent_looks_after_its_own_calls(ax: AX) -> None:
    """What is not settled in its conversation, how one of its calls stands; nothing of anybody else's."""
    pay = paying(ax)
    asyncio.run(_left_pending(pay, {"n": 9}))
    (foreign,) = ax.tasks().tasks
    control = AXControlToolSpec(ax).to_tool_list()
    assert [tool.metadata.name for tool in control] == ["ax_pending", "ax_status", "ax_cancel"]

    async def main() -> list[Any]:
        made = agent(
            [pay, *control],
            [("pay", {"n": "x"}, "p"), ("ax_pending", {}, "a"), ("ax_status", {"task_id": foreign.id}, "b")],
            "done",
        )
        return await outputs(made)

    answers = {each.tool_name: each.raw_output for each in asyncio.run(main())}
    assert answers["ax_pending"] == []
    assert answers["ax_status"]["state"] == "unknown"
    assert len(ax.tasks().tasks) == 2


def paying(ax: AX) -> Any:
    def pay(n: int) -> int:
        """Pay."""
        return n

    return wrap_tool(FunctionTool.from_defaults(pay), ax, policy=Policy("unsafe", confirm=True))


async def _left_pending(tool: Any, args: dict[str, Any]) -> None:
    handler = ask(tool, args).run("go")
    async for event in handler.stream_events():
        if isinstance(event, ApprovalRequired):
            await handler.cancel_run()
            break


def test_an_agent_sees_what_waits_for_a_person(ax: AX) -> None:
    """By a task id that it can ask about; from outside of the conversation nobody sees it."""
    pay = paying(ax)
    control = AXControlToolSpec(ax).to_tool_list()

    async def main() -> tuple[str, str]:
        handler = agent([pay, *control], [("pay", {"n": 1}), ("ax_pending", {})], "done").run("go")
        cards, answers = [], []
        async for event in handler.stream_events():
            if isinstance(event, ApprovalRequired):
                cards.append(event)
            if isinstance(event, ToolCallResult):
                answers.append(event.tool_output)
            if cards and answers:
                break
        (status,) = [tool for tool in control if tool.metadata.name == "ax_status"]
        await handler.cancel_run()
        return cards[0].ax_task_id, str(status.call(task_id=cards[0].ax_task_id).raw_output["state"])

    task_id, outside = asyncio.run(main())
    assert outside == "unknown"
    mine = AXControlToolSpec(ax, session=ax.get(task_id).session).to_tool_list()
    pending = mine[0].call().raw_output
    assert [each["task_id"] for each in pending] == [task_id]
    assert "person" in mine[1].call(task_id=task_id).raw_output["means"]


def test_an_agent_cancels_its_own_run(ax: AX) -> None:
    """What waits in this turn is cancelled, and the model is told; another turn's calls are not touched."""
    pay = paying(ax)
    asyncio.run(_left_pending(pay, {"n": 9}))
    control = AXControlToolSpec(ax).to_tool_list()

    async def main() -> list[str]:
        handler = agent([pay, *control], [("pay", {"n": 1}, "p")], "done").run("go")
        found = []
        async for event in handler.stream_events():
            if isinstance(event, ApprovalRequired):
                await ax.acancel(event.ax_run_id, by="agent")
            if isinstance(event, ToolCallResult):
                found.append(event.tool_output.content)
        await handler
        return found

    (answer,) = asyncio.run(asyncio.wait_for(main(), 10))
    assert "cancelled" in answer
    assert [str(task.state) for task in ax.tasks().tasks] == ["CANCELLED", "CONFIRMING"]


def test_ax_cancel_cancels_in_an_agent(ax: AX) -> None:
    """The verb as the model calls it."""
    (tool,) = [t for t in AXControlToolSpec(ax).to_tool_list() if t.metadata.name == "ax_cancel"]
    (add,) = wrap_tools([ADD], ax, default_effect="read")
    made = agent(
        [add, tool], [("ax_cancel", {}, "c")], [("add", {"a": 1}, "d")], [("ax_cancel", {}, "e")], "done"
    )
    first, _, again = asyncio.run(outputs(made))
    assert "nothing to cancel" in first.content
    assert "Nothing was changed" in again.content


def test_it_is_laid_out_as_llamahub_expects() -> None:
    """``[tool.llamahub]`` names a module that has the classes, and each is a BaseToolSpec."""
    with (Path(__file__).parents[3] / "pyproject.toml").open("rb") as file:
        hub = tomllib.load(file)["tool"]["llamahub"]
    module = import_module(hub["import_path"])
    assert set(hub["class_authors"]) == {"AXToolSpec", "AXControlToolSpec"}
    for name in hub["class_authors"]:
        assert BaseToolSpec.__name__ in [base.__name__ for base in getattr(module, name).__mro__]
