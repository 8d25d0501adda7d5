"""What LlamaIndex tools return: kept by AX's codec, by an allow-list, and put together again for each caller."""

from __future__ import annotations

from typing import Any

from llama_index.core.base.llms import types as blocks
from llama_index.core.base.llms.types import ChatMessage, ChatResponse, TextBlock
from llama_index.core.base.response.schema import PydanticResponse, Response
from llama_index.core.schema import (
    Document,
    ImageDocument,
    ImageNode,
    IndexNode,
    Node,
    NodeWithScore,
    QueryBundle,
    TextNode,
)
from llama_index.core.tools import FunctionTool, QueryEngineTool, RetrieverTool, ToolOutput

from ax_core import AX
from ax_core.codec import Codec, Opaque, TypeCodec

from .mcp import says_no
from .pending import Pending, filled_in

_BLOCKS = (
    "AudioBlock",
    "CacheControl",
    "CachePoint",
    "CitableBlock",
    "CitationBlock",
    "DocumentBlock",
    "ImageBlock",
    "TextBlock",
    "ThinkingBlock",
    "ToolCallBlock",
    "VideoBlock",
)
"""Of these a version of LlamaIndex has some."""
_MODELS: tuple[Any, ...] = (
    *(getattr(blocks, name) for name in _BLOCKS if hasattr(blocks, name)),
    ChatMessage,
    ChatResponse,
    Document,
    ImageDocument,
    ImageNode,
    IndexNode,
    Node,
    NodeWithScore,
    PydanticResponse,
    QueryBundle,
    Response,
    TextNode,
)


def teach(ax: AX) -> None:
    """Let ``ax`` store tool outputs with nodes, blocks and responses, so that a replay equals the first answer."""
    for model in _MODELS:
        ax.allow(model)
    codec = ax._core.codec
    ax.allow_type(TypeCodec("llama_index.output", ToolOutput, lambda output: _take(output, codec), _make))


class ErrorAnswer(Exception):
    """A tool's output that says it is an error: its answer is no, though it raised nothing."""

    def __init__(self, output: ToolOutput) -> None:
        super().__init__(output.content)
        self.output = output


def judged(result: Any) -> Any:
    """What a body returned, unless that says that it failed.

    Raises:
        ErrorAnswer: it does.
    """
    if isinstance(result, ToolOutput) and (result.is_error or says_no(result.raw_output)):
        raise ErrorAnswer(result)
    return result


def as_output(value: Any, pending: Pending) -> ToolOutput:
    """A stored or plain value as what this tool's callers take."""
    if isinstance(value, ToolOutput):
        value.raw_input = raw_input(pending)
        return value
    tool = pending.tool
    made: list[Any] = [TextBlock(text=str(value))]
    if isinstance(tool, FunctionTool):
        made = list(tool._parse_tool_output(value))
    return ToolOutput(
        blocks=made, tool_name=tool.metadata.get_name(), raw_input=raw_input(pending), raw_output=value
    )


def refusal(text: str, error: Exception, pending: Pending) -> ToolOutput:
    """A verdict in the form in which agents take a tool's errors."""
    return ToolOutput(
        content=text,
        tool_name=pending.tool.metadata.get_name(),
        raw_input=raw_input(pending),
        raw_output=text,
        is_error=True,
        exception=error,
    )


def noted(output: Any, note: str | None) -> Any:
    """The output with what the model is to be told besides; its raw value stays as it is."""
    if note is None or not isinstance(output, ToolOutput):
        return output
    marked = output.model_copy(update={"blocks": [*output.blocks, TextBlock(text=f"[{note}]")]})
    marked._exception = output._exception
    return marked


def raw_input(pending: Pending) -> dict[str, Any]:
    """A call's input as the framework would report it: never stored, for the host's own parameters are in it."""
    tool = pending.tool
    if isinstance(tool, FunctionTool):
        every = {**filled_in(tool), **pending.kwargs}
        every.pop(tool.ctx_param_name or "", None)
        return {"args": pending.args, "kwargs": every}
    if isinstance(tool, QueryEngineTool | RetrieverTool):
        return {"input": _asked(tool, pending)}
    return dict(pending.shown)


def _asked(tool: Any, pending: Pending) -> str:
    """The question that these tools make of their arguments."""
    if isinstance(tool, QueryEngineTool):
        try:
            return str(tool._get_query_str(*pending.args, **pending.kwargs))
        except ValueError:  # it was called without one
            return ""
    places = ", ".join(map(str, pending.args))
    names = ", ".join(f"{name} is {value}" for name, value in pending.kwargs.items())
    return f"{places}\n{names}\n"


def _take(output: ToolOutput, codec: Codec) -> list[Any]:
    """What the model reads is kept whole; a raw value that cannot be kept does not take it along."""
    raw = output.raw_output
    kept = codec.encode(raw)
    if kept.opaque:
        raw = Opaque(kept.note or "it cannot be stored")
    elif len(kept.text) > codec.cap // 2:
        raw = Opaque(f"truncated: {len(kept.text)} bytes beside the text that the model reads")
    return [output.tool_name, list(output.blocks), raw, output.is_error]


def _make(kept: list[Any]) -> ToolOutput:
    name, made, raw, is_error = kept
    return ToolOutput(tool_name=name, blocks=made, raw_input={}, raw_output=raw, is_error=is_error)
