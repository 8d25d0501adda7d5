"""A replay equals the first answer in type and value, and each caller gets a copy of its own."""

import asyncio
from typing import Any

import pytest
from llama_index.core.base.llms.types import (
    AudioBlock,
    ChatMessage,
    CitableBlock,
    CitationBlock,
    DocumentBlock,
    ImageBlock,
    TextBlock,
)
from llama_index.core.base.response.schema import Response
from llama_index.core.schema import (
    Document,
    ImageNode,
    IndexNode,
    MetadataMode,
    NodeRelationship,
    NodeWithScore,
    RelatedNodeInfo,
    TextNode,
)
from llama_index.core.tools import FunctionTool, ToolOutput

from ax_adapters.llama_index import wrap_tool
from ax_core import AX
from ax_core.codec import Opaque
from support.llama import Call
from support.llama_tools import QUERY, RETRIEVE


def linked() -> TextNode:
    """A node with metadata, a relationship, an embedding and excluded keys."""
    return TextNode(
        text="about x",
        id_="n1",
        metadata={"page": 3, "tags": ("a", "b")},
        embedding=[0.25, 0.5],
        excluded_llm_metadata_keys=["page"],
        relationships={NodeRelationship.SOURCE: RelatedNodeInfo(node_id="d1")},
    )


VALUES: list[Any] = [
    "text",
    None,
    {"k": [1, 2.5, None]},
    (1, ("a", 2)),
    TextBlock(text="x"),
    [TextBlock(text="x"), ImageBlock(image=b"abc", image_mimetype="image/png")],
    AudioBlock(audio=b"abc", format="wav"),
    DocumentBlock(data=b"abc", document_mimetype="application/pdf"),
    CitableBlock(title="t", source="s", content=[TextBlock(text="x")]),
    CitationBlock(
        cited_content=TextBlock(text="x"), source="s", title="t", additional_location_info={"page": 1}
    ),
    Document(text="doc", metadata={"a": 1}),
    [Document(text="one"), Document(text="two")],
    [NodeWithScore(node=linked(), score=0.75)],
    NodeWithScore(node=ImageNode(image="abc"), score=None),
    NodeWithScore(node=IndexNode(text="i", index_id="x"), score=1.0),
    Response(
        response="r", source_nodes=[NodeWithScore(node=linked(), score=0.5)], metadata={"n1": {"page": 3}}
    ),
    ChatMessage(role="assistant", content="hi"),
]


def twice(ax: AX, tool: Any, call: Call, **args: Any) -> tuple[ToolOutput, ToolOutput]:
    """The first answer of a request, and its replay."""
    with ax.override(request_id="once"):
        return call(tool, **args), call(tool, **args)


def tool_of(value: Any, ax: AX, **more: Any) -> Any:
    return wrap_tool(FunctionTool.from_defaults(lambda: value, name="f", description="d", **more), ax)


@pytest.mark.parametrize("value", VALUES, ids=lambda value: type(value).__name__)
def test_a_replay_equals_the_first_answer(value: Any, ax: AX, call: Call) -> None:
    """Blocks, content, raw output and input, for everything that LlamaIndex tools return."""
    first, again = twice(ax, tool_of(value, ax), call)
    assert again == first
    assert type(again.raw_output) is type(value)
    assert again.raw_output == value
    assert again.content == first.content
    if not isinstance(value, str | type(None)):
        assert again.raw_output is not first.raw_output
    (task,) = ax.tasks().tasks
    assert task.replayed


def test_a_node_keeps_what_a_model_reads_of_it(ax: AX, call: Call) -> None:
    """Excluded metadata, relationships and embeddings are those of the first."""
    _, again = twice(ax, tool_of([NodeWithScore(node=linked(), score=0.5)], ax), call)
    node = again.raw_output[0].node
    assert node.get_content(MetadataMode.LLM) == linked().get_content(MetadataMode.LLM)
    assert node.relationships[NodeRelationship.SOURCE].node_id == "d1"
    assert node.embedding == [0.25, 0.5]


@pytest.mark.parametrize("tool", [QUERY, RETRIEVE], ids=["query", "retrieve"])
def test_query_and_retriever_tools_replay(tool: Any, ax: AX, call: Call) -> None:
    """Text, raw value and input."""
    first, again = twice(ax, wrap_tool(tool, ax), call, input="x")
    assert (again.content, again.raw_input) == (first.content, first.raw_input)
    assert type(again.raw_output) is type(first.raw_output)


class Client:
    """Nothing to store of it."""

    def __str__(self) -> str:
        return "the text that a model reads"


def test_what_cannot_be_stored_costs_the_raw_value_alone(ax: AX, call: Call) -> None:
    """The model reads the same text again; the host finds a placeholder, and nothing ran a second time."""
    first, again = twice(ax, tool_of(Client(), ax), call)
    assert isinstance(first.raw_output, Client)
    assert again.content == first.content == "the text that a model reads"
    assert isinstance(again.raw_output, Opaque)
    assert "Client" in again.raw_output.note


def test_a_raw_value_that_is_too_large_costs_itself_alone(call: Call) -> None:
    """Say a retriever's documents beside a short text."""
    with AX("sqlite://", result_cap=4096) as ax:
        large = FunctionTool.from_defaults(
            lambda: ["x" * 500] * 10,
            name="f",
            description="d",
            callback=lambda result: f"{len(result)} found",
        )
        first, again = twice(ax, wrap_tool(large, ax), call)
        assert again.content == first.content == "10 found"
        assert isinstance(again.raw_output, Opaque)


def test_the_hosts_own_parameters_are_not_stored(ax: AX, call: Call) -> None:
    """Partial parameters stand in an output's raw_input, and are put there again for each caller."""

    def about(a: int, token: str) -> int:
        """About."""
        return a

    tool = wrap_tool(FunctionTool.from_defaults(about, partial_params={"token": "s3cret"}), ax)
    first, again = twice(ax, tool, call, a=1)
    assert again.raw_input == first.raw_input == {"args": (), "kwargs": {"token": "s3cret", "a": 1}}
    rows = ax._core.db.read(lambda tx: tx.all("SELECT * FROM ax_task"))
    assert "s3cret" not in str(rows)


def test_each_caller_gets_a_copy_of_its_own(ax: AX, call: Call) -> None:
    """What one does to its result, no other sees."""
    tool = tool_of({"k": [1]}, ax)
    _, again = twice(ax, tool, call)
    again.raw_output["k"].append(2)
    again.blocks.clear()
    with ax.override(request_id="once"):
        third = call(tool)
    assert third.raw_output == {"k": [1]}
    assert third.content == "{'k': [1]}"


def test_a_persons_word_stands_for_the_result(ax: AX) -> None:
    """``ax.resolve(happened=True, result=…)`` with a plain value: the agent reads it as the tool's answer."""

    async def slow() -> str:
        """Take long."""
        await asyncio.sleep(5)
        return "never"

    tool = wrap_tool(FunctionTool.from_defaults(async_fn=slow), ax, policy="unsafe", timeout=0.1)
    with ax.override(request_id="once"):
        assert asyncio.run(tool.acall()).is_error
        (task,) = ax.tasks().tasks
        ax.resolve(task.id, happened=True, result={"receipt": 7}, by="ops")
        output = asyncio.run(tool.acall())
    assert (output.raw_output, output.content, output.is_error) == ({"receipt": 7}, "{'receipt': 7}", False)


def test_an_exception_of_another_process_keeps_its_words(ax: AX, call: Call) -> None:
    """A failure that is told again, not seen: an error output with what happened, and AX's account as the exception."""

    def lost(n: int) -> str:
        """Lose it."""
        raise KeyError("gone")

    tool = wrap_tool(lost, ax, policy="unsafe")
    with ax.override(request_id="once"):
        with pytest.raises(KeyError):
            call(tool, n=1)
        output = call(tool, n=1)
    assert output.is_error
    assert "KeyError" in output.content
    assert isinstance(output.exception.__cause__, KeyError)
