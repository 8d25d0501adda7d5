"""LangChain and LangGraph tools under AX.

``wrap_tools(tools, ax)`` gives tools that are the same to the framework and go through AX.
"""

from .wrap import wrap_tool, wrap_tools

__all__ = ["wrap_tool", "wrap_tools"]
