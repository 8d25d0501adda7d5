"""Wrapping: what comes back, and what is told at the earliest moment."""

import logging
import subprocess
import sys
from typing import Any

import pytest
from llama_index.core.tools import (
    AsyncBaseTool,
    FunctionTool,
    QueryEngineTool,
    RetrieverTool,
    ToolMetadata,
    ToolOutput,
)
from llama_index.core.tools.types import BaseToolAsyncAdapter
from pydantic import BaseModel, ConfigDict

from ax_adapters.llama_index import wrap_tool, wrap_tools
from ax_core import AX, Effect, Policy, PolicyError
from support.llama import Call
from support.llama_tools import AADD, ADD, KINDS, NAMES, Echo, SyncOnly, aadd, add


@pytest.mark.parametrize("kind", [list, tuple])
def test_the_same_kind_of_container_comes_back(kind: type, ax: AX) -> None:
    """With every tool in its place."""
    wrapped = wrap_tools(kind(KINDS), ax)
    assert type(wrapped) is kind
    assert [tool.metadata.name for tool in wrapped] == NAMES


def test_functions_become_tools_as_agents_make_them(ax: AX, call: Call) -> None:
    """Plain and async ones, with LlamaIndex's own name, description and schema."""
    one, other = wrap_tools([add, aadd], ax)
    assert one.metadata.to_openai_tool() == FunctionTool.from_defaults(add).metadata.to_openai_tool()
    assert other.metadata.to_openai_tool() == AADD.metadata.to_openai_tool()
    assert call(one, a=1).content == call(other, a=1).content == "4"


def test_an_adapter_around_a_wrapped_tool_passes_through(ax: AX) -> None:
    """It goes through AX already."""
    adapted = BaseToolAsyncAdapter(wrap_tool(SyncOnly(), ax))
    assert wrap_tool(adapted, ax) is adapted


def test_policies_go_to_the_tools_they_name(ax: AX) -> None:
    """The rest gets ``default_effect``; a limit that a policy has of its own stands."""
    wrap_tools(
        [ADD, AADD], ax, policies={"add": Policy("unsafe", timeout=3)}, default_effect="read", timeout=9
    )
    assert ax.tools.get("add").policy.effect is Effect.UNSAFE
    assert ax.tools.get("add").policy.timeout == 3
    assert (ax.tools.get("aadd").policy.effect, ax.tools.get("aadd").policy.timeout) == (Effect.READ, 9)


def test_undeclared_tools_are_told_once(ax: AX, caplog: Any) -> None:
    """Which they are, what that means, and how to declare them."""
    with caplog.at_level(logging.WARNING, "ax"):
        wrap_tools([ADD, AADD], ax, policies={"aadd": "read"})
        wrap_tools([ADD], ax)
    assert caplog.text.count("undeclared tools: add.") == 1
    assert "policies={'add': 'read'}" in caplog.text


class Nameless(AsyncBaseTool):
    metadata = ToolMetadata(description="d")

    def call(self, *args: Any, **kwargs: Any) -> Any: ...

    async def acall(self, *args: Any, **kwargs: Any) -> Any: ...


class Wholesale(AsyncBaseTool):
    metadata = ToolMetadata(name="wholesale", description="d")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return ToolOutput(content="x", tool_name="wholesale", raw_input={}, raw_output=None)

    def call(self, *args: Any, **kwargs: Any) -> Any: ...

    async def acall(self, *args: Any, **kwargs: Any) -> Any: ...


class Odd:
    pass


class Unschematic(BaseModel):
    model_config = ConfigDict(arbitrary_types_allowed=True)
    x: Odd


def another_add(a: str) -> str:
    """Add."""
    return a


BAD: list[tuple[Any, dict[str, Any], str]] = [
    ([ADD], {"policies": {"ad": "read"}}, "did you mean 'add'"),
    ([ADD], {"policies": {"add": {"efect": "read"}}}, "efect"),
    ([ADD], {"policies": {"add": "raed"}}, "raed"),
    ([ADD], {"default_effect": "raed"}, "raed"),
    ([ADD], {"on_refusal": "shrug"}, "shrug"),
    ([ADD, FunctionTool.from_defaults(add)], {}, "two tools are named 'add'"),
    (ADD, {}, "wrap_tool"),
    ("add", {}, "str"),
    ([7], {}, "7"),
    ([Nameless()], {}, "has no name"),
    ([Wholesale()], {}, "overrides __call__"),
    ([AADD], {"policies": {"aadd": "transactional"}}, "plain function"),
    (
        [FunctionTool.from_defaults(add, fn_schema=Unschematic)],
        {"default_effect": "unsafe"},
        "no JSON Schema",
    ),
    ([QueryEngineTool.from_defaults(Echo()), QueryEngineTool.from_defaults(Echo())], {}, "query_engine_tool"),
]


@pytest.mark.parametrize(("tools", "more", "reason"), BAD, ids=[reason for *_, reason in BAD])
def test_what_cannot_be_wrapped_is_told_at_once(tools: Any, more: Any, reason: str, ax: AX) -> None:
    """With the name of what is wrong and what to do; nothing is registered then."""
    with pytest.raises(PolicyError, match=reason):
        wrap_tools(tools, ax, **more)
    assert len(ax.tools) == 0


@pytest.mark.parametrize("kind", [FunctionTool, QueryEngineTool, RetrieverTool, AsyncBaseTool])
def test_ax_stands_in_every_door_of_a_tool(kind: type) -> None:
    """A release of LlamaIndex with one more way to call a tool would lead past AX: this tells."""
    assert {name for name in dir(kind) if "call" in name and name.strip("_") == name} == {"call", "acall"}


@pytest.mark.parametrize("policy", [None, "read"])
def test_a_tool_without_a_json_schema_still_runs_where_ax_checks_nothing(
    policy: str | None, ax: AX, call: Call, caplog: pytest.LogCaptureFixture
) -> None:
    """No model can be told of it, but code calls it as it does without AX; wrapping says so."""
    tool = wrap_tool(FunctionTool.from_defaults(add, fn_schema=Unschematic), ax, policy=policy)
    assert "'add': there is no JSON Schema" in caplog.text
    assert call(tool, a=1).content == call(tool, 1).content == "4"
    assert [task.payload for task in ax.tasks().tasks] == [{"a": 1}, {"a": 1}]


def test_a_question_by_position_needs_no_json_schema(ax: AX, call: Call) -> None:
    """A query engine tool makes its question of whatever comes."""
    tool = wrap_tool(QueryEngineTool.from_defaults(Echo(), name="docs", description="d"), ax)
    tool.metadata.fn_schema = Unschematic
    assert call(tool, "why").content == call(QueryEngineTool.from_defaults(Echo()), "why").content


def test_a_name_that_stands_for_another_tool_is_refused(ax: AX) -> None:
    """Another schema, or another policy; the same again is no news (tools are often rebuilt for each request)."""
    wrap_tool(ADD, ax, policy="read")
    wrap_tool(FunctionTool.from_defaults(add), ax, policy="read")
    with pytest.raises(PolicyError, match="another policy"):
        wrap_tool(FunctionTool.from_defaults(add), ax)
    with pytest.raises(PolicyError, match="another schema"):
        wrap_tool(FunctionTool.from_defaults(another_add, name="add"), ax, policy="read")


def test_a_renamed_tool_is_known_by_its_new_name(ax: AX, call: Call) -> None:
    """Renamed after it was wrapped, as agents do that prefix names."""
    tool = wrap_tool(FunctionTool.from_defaults(add), ax, policy="read")
    tool._metadata = ToolMetadata(name="math_add", description="d", fn_schema=ADD.metadata.fn_schema)
    assert call(tool, a=1).content == "4"
    assert ax.tasks().tasks[0].tool == "math_add"


def test_the_core_imports_no_framework() -> None:
    """Nor does the adapters' package, and the LlamaIndex adapter imports no other framework."""
    code = (
        "import sys, ax_core, ax_adapters, ax_adapters.bridge\n"
        "loaded = {name.partition('.')[0] for name in sys.modules}\n"
        "assert not loaded & {'llama_index', 'workflows', 'langchain', 'langchain_core', 'langgraph'}, loaded\n"
        "import ax_adapters.llama_index\n"
        "loaded = {name.partition('.')[0] for name in sys.modules}\n"
        "assert not loaded & {'langchain', 'langchain_core', 'langgraph'}, loaded\n"
        "assert 'ax_adapters.langchain' not in sys.modules\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
