"""LlamaIndex tools under AX.

``wrap_tools(tools, ax)`` gives tools that are the same to the framework and go through AX.
"""

from .codeact import functions
from .events import ApprovalDecision, ApprovalRequired
from .wrap import wrap_tool, wrap_tools

__all__ = ["ApprovalDecision", "ApprovalRequired", "functions", "wrap_tool", "wrap_tools"]
