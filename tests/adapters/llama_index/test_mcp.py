"""Tools of MCP servers, listed by a spec in the form of llama-index-tools-mcp, which is not needed for it."""

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest
from llama_index.core.tools import FunctionTool, ToolMetadata
from llama_index.core.tools.tool_spec.base import BaseToolSpec
from mcp.types import CallToolResult, TextContent
from pydantic import BaseModel

from ax_adapters.llama_index import wrap_spec, wrap_tools
from ax_adapters.llama_index.mcp import hints_of, is_mcp
from ax_core import AX, Effect, PolicyError, State


class Number(BaseModel):
    n: int


class Annotations(BaseModel):
    """As ``mcp`` spells them: by their names in the protocol in its first version, in snake case in its second."""

    readOnlyHint: bool | None = None
    destructive_hint: bool | None = None


SAID = {"look": Annotations(readOnlyHint=True), "drop": Annotations(destructive_hint=True), "plain": None}


class Listing(BaseToolSpec):
    """A spec that asks its server for its tools, each time it lists them."""

    def __init__(self) -> None:
        self.called: list[str] = []

    async def fetch_tools(self) -> list[Any]:
        return [SimpleNamespace(name=name, annotations=said) for name, said in SAID.items()]

    def _made(self, name: str) -> FunctionTool:
        async def async_tool_fn(**given: Any) -> str:
            self.called.append(name)
            return f"{name} {given['n']}"

        async_tool_fn.__module__ = "llama_index.tools.mcp.base"
        metadata = ToolMetadata(name=name, description=name, fn_schema=Number)
        return FunctionTool.from_defaults(async_fn=async_tool_fn, tool_metadata=metadata)

    async def to_tool_list_async(self) -> list[FunctionTool]:  # type: ignore[override]
        return [self._made(each.name) for each in await self.fetch_tools()]

    def to_tool_list(self) -> list[FunctionTool]:  # type: ignore[override]
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return asyncio.run(self.to_tool_list_async())
        raise RuntimeError("not in an asynchronous environment")


def listed(ax: AX, on_loop: bool, **more: Any) -> list[FunctionTool]:
    """The tools of a wrapped spec, as code on a loop gets them or as code without one."""

    async def main() -> list[FunctionTool]:
        return await wrap_spec(Listing(), ax, **more).to_tool_list_async()

    return asyncio.run(main()) if on_loop else wrap_spec(Listing(), ax, **more).to_tool_list()


@pytest.mark.parametrize("on_loop", [True, False], ids=["async", "sync"])
def test_every_way_to_list_gives_tools_under_ax(on_loop: bool, ax: AX) -> None:
    tools = listed(ax, on_loop)
    assert [asyncio.run(tool.acall(n=1)).raw_output for tool in tools] == ["look 1", "drop 1", "plain 1"]
    assert sorted(task.tool for task in ax.tasks().tasks) == ["drop", "look", "plain"]


@pytest.mark.parametrize("on_loop", [True, False], ids=["async", "sync"])
@pytest.mark.parametrize(
    ("mode", "effects", "asks"),
    [
        ("tighten", ("undeclared", "unsafe", "undeclared"), False),
        ("trust", ("read", "unsafe", "undeclared"), False),
        ("confirm", ("undeclared", "unsafe", "undeclared"), True),
    ],
)
def test_annotations_become_policy(
    mode: str, effects: tuple[str, ...], asks: bool, on_loop: bool, ax: AX
) -> None:
    """As for LangChain's tools of MCP servers, though LlamaIndex's do not carry what the server said."""
    tools = listed(ax, on_loop, mcp_hints=mode)
    policies = [ax.tools.get(tool.metadata.name).policy for tool in tools]
    assert tuple(str(policy.effect) for policy in policies) == effects
    assert [policy.confirm for policy in policies] == [False, asks, False]


def test_a_policy_that_names_the_tool_wins(ax: AX) -> None:
    listed(ax, True, policies={"drop": "keyed"}, default_effect="read")
    assert {tool.name: tool.effect for tool in ax.tools} == {
        "look": Effect.READ,
        "drop": Effect.KEYED,
        "plain": Effect.READ,
    }


def test_a_policy_for_a_tool_that_the_server_lacks_is_told_when_it_has_listed(ax: AX) -> None:
    with pytest.raises(PolicyError, match="did you mean 'look'"):
        listed(ax, True, policies={"lok": "read"})
    with pytest.raises(PolicyError, match="mcp_hints='loosen'"):
        wrap_spec(Listing(), ax, mcp_hints="loosen")


def test_the_key_travels_where_the_tool_of_a_server_runs(ax: AX, monkeypatch: pytest.MonkeyPatch) -> None:
    """What stands in the client's session knows a wrapped MCP tool of LlamaIndex's by its function."""
    inside: list[Any] = []
    monkeypatch.setattr("ax_adapters.llama_index.mcp.carry_key", inside.append)
    seen: list[bool] = []

    async def async_tool_fn(n: int) -> str:
        seen.append(inside[0]())
        return "ok"

    async_tool_fn.__module__ = "llama_index.tools.mcp.base"
    tool = FunctionTool.from_defaults(async_fn=async_tool_fn, name="remote")
    (wrapped,) = wrap_tools([tool], ax)
    assert asyncio.run(wrapped.acall(n=1)).raw_output == "ok"
    assert (seen, inside[0](), is_mcp(wrapped)) == ([True], False, True)


def remote(name: str, answer: CallToolResult, asked: list[str]) -> FunctionTool:
    """A tool of a server that gives this answer."""

    async def async_tool_fn(n: int) -> CallToolResult:
        asked.append(name)
        return answer

    async_tool_fn.__module__ = "llama_index.tools.mcp.base"
    return FunctionTool.from_defaults(async_fn=async_tool_fn, name=name)


def test_an_answer_of_a_server_comes_back_whole(ax: AX) -> None:
    """A replay equals the first answer, in its blocks and as the object that it is."""
    asked: list[str] = []
    said = CallToolResult(content=[TextContent(type="text", text="7")], structuredContent={"n": 7})
    (tool,) = wrap_tools([remote("look", said, asked)], ax, default_effect="read")
    answers = []
    for _ in range(2):
        with ax.override(request_id="r"):
            answers.append(asyncio.run(tool.acall(n=1)))
    assert [each.raw_output for each in answers] == [said, said]
    assert answers[0].content == answers[1].content
    assert asked == ["look"]


def test_an_error_of_a_server_is_a_failure_on_record_and_for_the_agent_what_it_was(ax: AX) -> None:
    """LlamaIndex hands it on like any answer; on record it is no success that an equal call could merge into."""
    no = CallToolResult(content=[TextContent(type="text", text="no such order")], isError=True)
    bare = remote("pay", no, [])
    (tool,) = wrap_tools([bare], ax)
    told, plain = asyncio.run(tool.acall(n=1)), asyncio.run(bare.acall(n=1))
    assert (told.content, told.raw_output, told.is_error) == (plain.content, no, plain.is_error)
    (task,) = ax.tasks().tasks
    assert task.state is State.FAILED


def test_a_server_that_says_nothing(ax: AX) -> None:
    assert hints_of([SimpleNamespace(name="a"), SimpleNamespace(name="b", annotations=None)]) == {}
