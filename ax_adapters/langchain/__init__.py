"""LangChain and LangGraph tools under AX.

``wrap_tools(tools, ax)`` gives tools that are the same to the framework and go through AX; ``AXMiddleware(ax)`` puts
all tools of an agent under it; ``AXToolkit(ax)`` are the tools that are registered with AX itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .control import AXControlToolkit
from .toolkit import AXToolkit
from .wrap import wrap_tool, wrap_tools

if TYPE_CHECKING:
    from .middleware import AXMiddleware

__all__ = ["AXControlToolkit", "AXMiddleware", "AXToolkit", "wrap_tool", "wrap_tools"]


def __getattr__(name: str) -> Any:
    if name == "AXMiddleware":  # needs langchain and langgraph; the tools need langchain-core only
        from .middleware import AXMiddleware

        return AXMiddleware
    raise AttributeError(name)
