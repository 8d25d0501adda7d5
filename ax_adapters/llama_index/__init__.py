"""LlamaIndex tools under AX.

``wrap_tools(tools, ax)`` gives tools that are the same to the framework and go through AX; ``AXToolSpec(ax)`` gives an
agent the tools that are registered in AX.
"""

from .codeact import functions
from .events import ApprovalDecision, ApprovalRequired
from .spec import wrap_spec
from .tool_spec import AXControlToolSpec, AXToolSpec
from .wrap import wrap_tool, wrap_tools

__all__ = [
    "AXControlToolSpec",
    "AXToolSpec",
    "ApprovalDecision",
    "ApprovalRequired",
    "functions",
    "wrap_spec",
    "wrap_tool",
    "wrap_tools",
]
