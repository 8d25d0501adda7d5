"""Tools of MCP servers, as langchain-mcp-adapters and langchain.mcp make them."""

from __future__ import annotations

from typing import Any

from langchain_core.tools import BaseTool

from ..bridge import carry_key, is_entered
from .pending import current_pending

_MAKERS = ("langchain_mcp_adapters.", "langchain.mcp.")
_SNAKE = {
    "read_only_hint": "readOnlyHint",
    "destructive_hint": "destructiveHint",
    "idempotent_hint": "idempotentHint",
}


def is_mcp(tool: BaseTool) -> bool:
    """Whether a tool calls an MCP server."""
    made_in = getattr(getattr(tool, "coroutine", None), "__module__", None) or ""
    return made_in.startswith(_MAKERS)


def hints_of(tool: BaseTool) -> dict[str, Any]:
    """The annotations that the server gave the tool, by their names in the protocol."""
    said: dict[str, Any] = tool.metadata or {}
    if isinstance(grouped := said.get("mcp"), dict):  # langchain.mcp
        said = (grouped.get("tool") or {}).get("annotations") or {}
    return {_SNAKE.get(name, name): value for name, value in said.items()}


def prepare_mcp() -> None:
    """Let the calls of wrapped MCP tools carry their idempotency key."""
    carry_key(_in_an_mcp_tool)


def _in_an_mcp_tool() -> bool:
    pending = current_pending.get()
    return pending is not None and is_entered(pending.tool) and is_mcp(pending.tool)
