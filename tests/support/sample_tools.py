"""Tools as people write them: one of each kind that the framework treats in a way of its own."""

# No postponed annotations here: LangChain reads the raw ones.
from typing import Annotated, Any

from langchain_core.callbacks import CallbackManagerForToolRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.tools import BaseTool, InjectedToolArg, InjectedToolCallId, StructuredTool, Tool, tool
from pydantic import BaseModel, Field
from pydantic.v1 import BaseModel as BaseModelV1


class Addends(BaseModel):
    """add things"""

    a: int = Field(description="left")
    b: int = Field(3, description="right", ge=0)


class Point(BaseModel):
    """A nested model."""

    x: int


class Old(BaseModelV1):
    """A schema in pydantic's first form."""

    a: int


class Offset(BaseTool):
    """A tool that is a class with state and a method of its own."""

    name: str = "offset"
    description: str = "adds, and then some"
    args_schema: type[BaseModel] = Addends
    offset: int = 10
    tags: list[str] | None = ["t1"]
    metadata: dict[str, Any] | None = {"m": 1}

    def helper(self) -> int:
        return self.offset

    def _run(self, a: int, b: int = 3, run_manager: CallbackManagerForToolRun | None = None) -> int:
        return a + b + self.helper()


class Library(BaseRetriever):
    """A retriever with one document for every query."""

    def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
        return [Document(page_content=f"about {query}")]


@tool
def add(a: int, b: int = 3) -> int:
    """Add two ints."""
    return a + b


@tool("fancy", extras={"cache_control": {"type": "ephemeral"}})
def fancy(
    q: str, tool_call_id: Annotated[str, InjectedToolCallId], secret: Annotated[str, InjectedToolArg] = "s"
) -> str:
    """Answers with what was injected."""
    return f"{q}/{tool_call_id}/{secret}"


JSON_SCHEMA = {
    "type": "object",
    "title": "by_json",
    "description": "d",
    "properties": {"a": {"type": "integer"}},
    "required": ["a"],
}
by_json = StructuredTool(name="by_json", description="d", func=lambda a: a, args_schema=JSON_SCHEMA)
old = StructuredTool.from_function(func=lambda a: a, name="old", description="d", args_schema=Old)
shout = Tool("shout", lambda text: text.upper(), "upper case")
KINDS = [add, fancy, Offset(), by_json, old, shout]


def returning(value: Any, name: str = "value", **more: Any) -> StructuredTool:
    """A tool that returns this."""
    return StructuredTool.from_function(
        lambda a, b=3: value, name=name, description="d", args_schema=Addends, **more
    )


def raising(error: BaseException, name: str = "fails", **more: Any) -> StructuredTool:
    """A tool that raises this."""

    def fails(a: int) -> str:
        """Fails."""
        raise error

    return StructuredTool.from_function(fails, name=name, **more)
