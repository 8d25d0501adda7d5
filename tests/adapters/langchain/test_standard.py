"""LangChain's own standard tests for tools (langchain-tests), over wrapped tools of every kind."""

# No postponed annotations: LangChain reads the raw ones.
from typing import Any

from langchain_core.callbacks import CallbackManagerForToolRun
from langchain_core.runnables import RunnableConfig, RunnableLambda
from langchain_core.tools import (
    BaseTool,
    StructuredTool,
    Tool,
    create_retriever_tool,
    tool,
)
from langchain_tests.integration_tests import ToolsIntegrationTests
from langchain_tests.unit_tests import ToolsUnitTests
from pydantic import BaseModel

from ax_adapters.langchain import AXControlToolkit, AXToolkit, wrap_tool
from ax_core import AX
from support.sample_tools import JSON_SCHEMA, Addends, Library, Offset, add, old

AX_OF_ALL = AX("sqlite://")


class Text(BaseModel):
    """What is said."""

    text: str


@tool
async def async_only(a: int, b: int = 1) -> int:
    """Adds, later."""
    return a + b


@tool(response_format="content_and_artifact")
def with_artifact(a: int) -> tuple[str, dict[str, int]]:
    """Text for the model, the rest for the program."""
    return f"got {a}", {"raw": a}


@tool
def with_config(a: int, config: RunnableConfig) -> str:
    """Reads the configuration."""
    return str(sorted(config))


@tool
def blocks(a: int) -> list[dict[str, str]]:
    """Content blocks."""
    return [{"type": "text", "text": str(a)}]


class Plain(BaseTool):
    """No schema of its own, both forms."""

    name: str = "plain_class"
    description: str = "adds"

    def _run(self, a: int, b: int = 1, run_manager: CallbackManagerForToolRun | None = None) -> int:
        return a + b

    async def _arun(self, a: int, b: int = 1) -> int:
        return a + b


async def _remote(**given: Any) -> tuple[list[dict[str, str]], dict[str, Any]]:
    return [{"type": "text", "text": str(given["a"])}], {"structured_content": given}


@AX_OF_ALL.tool(effect="read")
def registered(a: int) -> int:
    """A tool of AX's own."""
    return a


like_mcp = StructuredTool(
    name="like_mcp",
    description="As an MCP client makes them.",
    args_schema=JSON_SCHEMA,
    coroutine=_remote,
    response_format="content_and_artifact",
)
structured = StructuredTool.from_function(
    lambda a, b=1: a + b, name="structured", description="d", args_schema=Addends
)
searching = create_retriever_tool(Library(), "search", "s", response_format="content_and_artifact")
ONE = {"a": 1}
KINDS: dict[str, tuple[Any, dict[str, Any]]] = {
    "Function": (add, {"a": 1, "b": 2}),
    "Structured": (structured, ONE),
    "Artifact": (with_artifact, ONE),
    "Config": (with_config, ONE),
    "Blocks": (blocks, ONE),
    "Class": (Offset(offset=3), ONE),
    "ClassWithoutSchema": (Plain(), ONE),
    "OneInput": (Tool("shouts", str.upper, "upper case", args_schema=Text), {"text": "x"}),
    "Retriever": (searching, {"query": "q"}),
    "JsonSchema": (StructuredTool(name="js", description="d", func=lambda a: a, args_schema=JSON_SCHEMA), ONE),
    "PydanticV1": (old, ONE),
    "Runnable": (RunnableLambda(lambda x: x["a"]).as_tool(name="r", description="d", arg_types={"a": int}), ONE),
}  # fmt: skip
ASYNC = {"AsyncOnly": (async_only, ONE), "LikeMcp": (like_mcp, ONE)}


def _kind(of: type, name: str, made: Any, args: dict[str, Any], **more: Any) -> None:
    """A test class of LangChain's for one tool."""
    members = {
        "tool_constructor": property(lambda self: made),
        "tool_invoke_params_example": property(lambda self: dict(args)),
        **{key: property(lambda self, value=value: value) for key, value in more.items()},
    }
    globals()[f"Test{name}"] = type(f"Test{name}", (of,), members)


for _name, (_tool, _args) in {**KINDS, **ASYNC}.items():
    for _way, _limit in (("", None), ("Limited", 20.0)):
        _made = wrap_tool(_tool, AX("sqlite://"), timeout=_limit)
        _kind(ToolsUnitTests, f"{_name}{_way}Unit", _made, _args)
        if _name in KINDS:  # these tests call the sync form, and without a tool call
            _kind(ToolsIntegrationTests, f"{_name}{_way}Integration", _made, _args)

_bridged = {"AsyncOnlyBridged": async_only, "LikeMcpBridged": like_mcp}
for _name, _tool in _bridged.items():
    _made = wrap_tool(_tool, AX("sqlite://"), sync_bridge=True)
    _kind(ToolsUnitTests, f"{_name}Unit", _made, ONE)
    _kind(ToolsIntegrationTests, f"{_name}Integration", _made, ONE)

(_own,) = AXToolkit(AX_OF_ALL).get_tools()
_kind(ToolsUnitTests, "RegisteredUnit", _own, ONE)
_kind(ToolsIntegrationTests, "RegisteredIntegration", _own, ONE)
for _tool in AXControlToolkit(AX_OF_ALL).get_tools():
    _args = {"task_id": "x"} if _tool.name == "ax_status" else {}
    _kind(ToolsUnitTests, f"{_tool.name}Unit", _tool, _args)
    _kind(ToolsIntegrationTests, f"{_tool.name}Integration", _tool, _args)

# From the class: the tests make the tool themselves.
_limited = type(wrap_tool(Offset(), AX("sqlite://")))
_kind(ToolsUnitTests, "FromClassUnit", _limited, ONE, tool_constructor_params={"offset": 2})
_kind(ToolsIntegrationTests, "FromClassIntegration", _limited, ONE, tool_constructor_params={"offset": 2})


def test_they_are_wrapped() -> None:
    """All of these tests are about tools under AX."""
    mine = [
        made
        for name, made in globals().items()
        if name.startswith("Test") and name.endswith(("Unit", "Integration"))
    ]
    assert len(mine) > 60
    for each in mine:
        made = each().tool_constructor
        assert hasattr(made if isinstance(made, type) else type(made), "__ax_binding__"), each
