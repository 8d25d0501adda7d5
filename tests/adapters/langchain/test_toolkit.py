"""AXToolkit: what is registered with AX, as LangChain tools."""

import asyncio
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.utils.function_calling import convert_to_openai_tool

from ax_adapters.langchain import AXMiddleware, AXToolkit, wrap_tool
from ax_core import AX, Context, NotApplied, Policy, PolicyError, UnknownTool, current
from support.driving import Drive, call_of
from support.sample_tools import add
from support.scripted import Scripted, said, told


@pytest.fixture
def kit(ax: AX) -> AX:
    """An AX with a few tools of its own."""

    @ax.tool(effect="unsafe", compensate=lambda args, result: None)
    def refund(order_id: str, amount: float = 1.5, ctx: Context | None = None) -> dict[str, Any]:
        """Refund an order."""
        return {"order": order_id, "amount": amount, "key": current().idempotency_key}

    @ax.tool(effect="read")
    async def look(self: int, config: str = "c", run_manager: str = "r") -> list[Any]:
        """Argument names that LangChain uses itself."""
        return [self, config, run_manager]

    return ax


def of(ax: AX, *names: str) -> Any:
    made = {tool.name: tool for tool in AXToolkit(ax).get_tools()}
    return [made[name] for name in names] if len(names) > 1 else made[names[0]]


def test_the_model_sees_what_was_registered(kit: AX) -> None:
    """Name, description, schema; undoing tools and framework tools are left out."""
    wrap_tool(add, kit)
    tools = AXToolkit(kit).get_tools()
    assert [made.name for made in tools] == ["refund", "look"]
    shown = convert_to_openai_tool(tools[0])["function"]
    assert shown["description"] == "Refund an order."
    assert set(shown["parameters"]["properties"]) == {"order_id", "amount"}


def test_calls_go_through_ax(kit: AX, drive: Drive) -> None:
    """Recorded once, under the policy and with the context of the registered tool."""
    refund = of(kit, "refund")
    answer = drive(refund, {"order_id": "7"})
    (task,) = kit.tasks().tasks
    assert answer == {"order": "7", "amount": 1.5, "key": task.idempotency_key}
    assert (task.tool, task.effect, task.payload) == ("refund", "unsafe", {"order_id": "7", "amount": 1.5})


def test_an_async_tool_can_be_called_both_ways(kit: AX, drive: Drive) -> None:
    """Whatever its arguments are called."""
    assert drive(of(kit, "look"), {"self": 1, "config": "x", "run_manager": "y"}) == [1, "x", "y"]


def test_what_does_not_fit_reaches_the_model(kit: AX, drive: Drive) -> None:
    """In AX's own words, which name what was meant; nothing runs."""
    refund = of(kit, "refund")
    message = drive(refund, call_of(refund, {"order": "7"}))
    assert message.status == "error" and "did you mean 'order_id'" in message.content
    assert kit.tasks().tasks[0].attempts == 0


def test_only_some(kit: AX) -> None:
    """In the order that was asked for; unknown names are told with what was meant."""
    assert [made.name for made in AXToolkit(kit, ["look", "refund"]).get_tools()] == ["look", "refund"]
    with pytest.raises(UnknownTool, match="did you mean 'refund'"):
        AXToolkit(kit, ["refnud"]).get_tools()
    wrap_tool(add, kit)
    with pytest.raises(PolicyError, match="'add' is a wrapped framework tool"):
        AXToolkit(kit, ["add"]).get_tools()


def test_what_is_registered_later_is_there(kit: AX) -> None:
    """A toolkit is a view."""
    toolkit = AXToolkit(kit)
    kit.register(lambda: 1, name="late", policy="read")
    assert [made.name for made in toolkit.get_tools()][-1] == "late"


def test_an_agent_uses_them(kit: AX, drive: Drive) -> None:
    """With and without the middleware each call is one task; the function is still callable beside."""
    script = [[("refund", {"order_id": "7"}), ("look", {"self": 1})], "done"]
    for middleware in ([], [AXMiddleware(kit)]):
        agent = create_agent(Scripted(script=script), AXToolkit(kit).get_tools(), middleware=middleware)
        assert '"order": "7"' in told(drive(agent, said()))[0]
    assert len(kit.tasks().tasks) == 4
    assert kit.call("refund", {"order_id": "8"})["order"] == "8"


def test_retries_and_failures_are_the_policys(ax: AX, drive: Drive) -> None:
    """The registered policy is the one that counts."""
    tries: list[int] = []

    def flaky(n: int) -> str:
        """Fails once."""
        tries.append(n)
        if len(tries) == 1:
            raise NotApplied("busy")
        return "done"

    ax.register(flaky, policy=Policy("unsafe", retries=1, backoff=0))
    assert drive(of(ax, "flaky"), {"n": 1}) == "done"
    assert asyncio.run(ax.aget(ax.tasks().tasks[0].id)).attempts == 2
