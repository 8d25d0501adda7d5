"""What LangChain and LangGraph tools return beside plain values: kept by AX's codec, by an allow-list."""

from __future__ import annotations

import dataclasses
import sys
from typing import Any

from langchain_core.documents import Document
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    FunctionMessage,
    HumanMessage,
    RemoveMessage,
    SystemMessage,
    ToolMessage,
)
from langchain_core.tools import BaseTool

from ax_core import AX
from ax_core.codec import Codec, Opaque, TypeCodec

_MODELS = (
    Document,
    AIMessage,
    AIMessageChunk,
    FunctionMessage,
    HumanMessage,
    RemoveMessage,
    SystemMessage,
    ToolMessage,
)


def teach(ax: AX) -> None:
    """Let ``ax`` store messages, documents and graph commands, so that a replay equals the first answer."""
    for model in _MODELS:
        ax.allow(model)
    types = sys.modules.get("langgraph.types")
    if types is not None:
        ax.allow(types.Command)
        ax.allow_type(
            TypeCodec("langgraph.send", types.Send, _write_send, lambda kept: _read_send(types.Send, kept))
        )
    ax.allow_type(TypeCodec("langgraph.handover", Handover, lambda over: over.command, Handover))
    codec = ax._core.codec
    ax.allow_type(TypeCodec("langchain.pair", Pair, lambda pair: _write_pair(pair, codec), Pair))


class Pair(tuple[Any, Any]):
    """Content, and an artifact that cannot be stored and costs itself alone."""

    __slots__ = ()


def paired(result: Any, tool: BaseTool, ax: AX) -> Any:
    """What a body returned; as a :class:`Pair`, if it is content and artifact and cannot be stored with both."""
    if tool.response_format != "content_and_artifact" or type(result) is not tuple or len(result) != 2:
        return result
    return Pair(result) if ax._core.codec.encode(result).opaque else result


def replayed(result: Any, tool: BaseTool, tool_call_id: str | None) -> Any:
    """A stored result as what this tool's caller takes; of content that was too large, what is left of it."""
    if isinstance(result, Opaque) and tool.response_format == "content_and_artifact":
        return str(result), None
    if isinstance(result, Handover):
        return Handover(readdressed(result.command, tool_call_id))
    return readdressed(result, tool_call_id)


class Handover:
    """A tool's answer that is a command to the graph above: LangGraph is told by an exception, but nothing failed."""

    def __init__(self, command: Any, told: BaseException | None = None) -> None:
        self.command, self._told = command, told

    def raised(self) -> BaseException:
        """What tells LangGraph: the tool's own exception, or one like it."""
        from langgraph.errors import ParentCommand

        return self._told or ParentCommand(self.command)


def handed_over() -> tuple[type[BaseException], ...]:
    """What a tool's body raises to hand over to the graph above."""
    errors = sys.modules.get("langgraph.errors")
    return (errors.ParentCommand,) if errors is not None else ()


class ErrorAnswer(Exception):
    """A tool's message with error status: its answer is no, though it raised nothing."""

    def __init__(self, message: ToolMessage) -> None:
        super().__init__(message.text)
        self.message = message


def judged(result: Any) -> Any:
    """What a body returned, unless that says that it failed.

    Raises:
        ErrorAnswer: it does.
    """
    if isinstance(result, ToolMessage) and result.status == "error":
        raise ErrorAnswer(result)
    return result


def _write_pair(pair: Pair, codec: Codec) -> list[Any]:
    content, artifact = pair
    return [content, Opaque(codec.encode(artifact).note or "too large beside the content")]


def _write_send(send: Any) -> Any:
    return [send.node, send.arg]


def _read_send(send: Any, kept: Any) -> Any:
    return send(*kept)


def readdressed(result: Any, tool_call_id: str | None) -> Any:
    """A stored result as the answer to another call: its messages name the call they answer now."""
    if tool_call_id is None:
        return result
    if isinstance(result, ToolMessage):
        return result.model_copy(update={"tool_call_id": tool_call_id})
    if isinstance(result, list):
        return [readdressed(item, tool_call_id) for item in result]
    update = getattr(result, "update", None)
    if (
        type(result).__name__ == "Command"
        and isinstance(update, dict)
        and isinstance(update.get("messages"), list)
    ):
        messages = [readdressed(message, tool_call_id) for message in update["messages"]]
        return dataclasses.replace(result, update={**update, "messages": messages})
    return result
