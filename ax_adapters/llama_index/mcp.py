"""Tools of MCP servers, as llama-index-tools-mcp makes them: it keeps nothing of what the server says of a tool."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any

from ax_core import AX

from ..bridge import carry_key, hints_in, innermost

_MAKER = "llama_index.tools.mcp"


def is_mcp(tool: Any) -> bool:
    """Whether a tool calls an MCP server."""
    made_in = getattr(getattr(tool, "_real_fn", None), "__module__", None) or ""
    return made_in == _MAKER or made_in.startswith(f"{_MAKER}.")


def hints_of(listing: Iterable[Any]) -> dict[str, dict[str, Any]]:
    """The annotations in what a server listed, by tool."""
    said = {each.name: getattr(each, "annotations", None) for each in listing}
    return {name: hints_in(dict(found)) for name, found in said.items() if found is not None}


def prepare_mcp(ax: AX) -> None:
    """Let the calls of wrapped MCP tools carry their idempotency key, and ``ax`` store what servers answer."""
    carry_key(_in_an_mcp_tool)
    if (answer := _answer()) is not None:
        ax.allow(answer)


def says_no(result: Any) -> bool:
    """Whether a server's answer is that its tool failed, which LlamaIndex passes on like any other."""
    answer = _answer()
    if answer is None or not isinstance(result, answer):
        return False
    return bool(getattr(result, "isError", False) or getattr(result, "is_error", False))


def _answer() -> Any:
    """The class of answers, in either version of ``mcp``; None: it is not imported, so nobody has one."""
    return getattr(sys.modules.get("mcp.types"), "CallToolResult", None)


def _in_an_mcp_tool() -> bool:
    return is_mcp(innermost())
