"""LlamaIndex tools of every kind."""

# No postponed annotations: LlamaIndex compares the raw ones of a tool with Context.
from typing import Any

from llama_index.core.query_engine import CustomQueryEngine
from llama_index.core.retrievers import BaseRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
from llama_index.core.tools import (
    AsyncBaseTool,
    BaseTool,
    FunctionTool,
    QueryEngineTool,
    RetrieverTool,
    ToolMetadata,
    ToolOutput,
)
from llama_index.core.tools.tool_spec.base import BaseToolSpec
from llama_index.core.workflow import Context
from pydantic import BaseModel, Field


class Sum(BaseModel):
    """The arguments of an addition."""

    a: int = Field(description="left")
    b: int = 3


def add(a: int, b: int = 3) -> int:
    """Add."""
    return a + b


async def aadd(a: int, b: int = 3) -> int:
    """Add."""
    return a + b


def in_context(ctx: Context, a: int) -> str:
    """Tell the class of the context."""
    return f"{type(ctx).__name__}:{a}"


class Echo(CustomQueryEngine):
    """Answers with the question."""

    def custom_query(self, query_str: str) -> str:
        return f"answer {query_str}"


class Shelf(BaseRetriever):
    """Finds one node, whatever is asked."""

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return [
            NodeWithScore(node=TextNode(text=f"about {query_bundle.query_str.strip()}", id_="n1"), score=0.5)
        ]


class SyncOnly(BaseTool):
    """A tool with nothing but ``__call__``."""

    @property
    def metadata(self) -> ToolMetadata:
        return ToolMetadata(name="sync_only", description="d", fn_schema=Sum)

    def __call__(self, input: Any = None, **more: Any) -> ToolOutput:
        return ToolOutput(
            content=f"so {more or input}", tool_name="sync_only", raw_input=more, raw_output=more
        )


class Own(AsyncBaseTool):
    """A class of the user's own, whose ``acall`` comes back through ``call``."""

    def __init__(self) -> None:
        self.seen: list[Any] = []

    @property
    def metadata(self) -> ToolMetadata:
        return ToolMetadata(name="own", description="d", fn_schema=Sum)

    def call(self, *args: Any, **more: Any) -> ToolOutput:
        self.seen.append(more)
        return ToolOutput(content=f"own {more}", tool_name="own", raw_input=more, raw_output=more)

    async def acall(self, *args: Any, **more: Any) -> ToolOutput:
        return self.call(*args, **more)


class Spec(BaseToolSpec):
    """A function, a pair of them, and a coroutine function, over one state."""

    spec_functions = ["one", ("two", "atwo"), "three"]

    def __init__(self) -> None:
        self.state = 5

    def one(self, a: int) -> int:
        """One."""
        return a + self.state

    def two(self, a: int) -> int:
        """Two."""
        return a

    async def atwo(self, a: int) -> int:
        """Two."""
        return a + 100

    async def three(self, a: int) -> int:
        """Three."""
        return a * 3


ADD = FunctionTool.from_defaults(add)
AADD = FunctionTool.from_defaults(async_fn=aadd)
BOTH = FunctionTool.from_defaults(fn=add, async_fn=aadd, name="both")
IN_CONTEXT = FunctionTool.from_defaults(in_context)
QUERY = QueryEngineTool.from_defaults(Echo(), name="query", description="q")
RETRIEVE = RetrieverTool.from_defaults(Shelf(), name="retrieve", description="r")
KINDS = [ADD, AADD, BOTH, IN_CONTEXT, QUERY, RETRIEVE, SyncOnly(), Own()]
NAMES = [tool.metadata.name for tool in KINDS]
