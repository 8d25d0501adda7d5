"""Tools of an agent put under AX as they are called, however they come into the request."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any

from langchain_core.tools import BaseTool
from langgraph.prebuilt.tool_node import ToolCallRequest

Guard = Callable[[BaseTool], BaseTool]


@dataclass
class GuardedRequest(ToolCallRequest):
    """A tool call request whose tool goes through AX: also one that an inner middleware puts in its place.

    A reviewer's edit may name another tool, and dynamic tools are supplied this way.
    """

    guard: Guard

    def override(self, **overrides: Any) -> ToolCallRequest:
        """As the framework's own, under AX."""
        made = overrides.get("tool")
        if isinstance(made, BaseTool):
            overrides["tool"] = self.guard(made)
        return super().override(**overrides)


def guarded(request: ToolCallRequest, guard: Guard) -> ToolCallRequest:
    """The request with its tool, and any that takes its place, under AX."""
    if isinstance(request, GuardedRequest):
        return request
    given = {field.name: getattr(request, field.name) for field in fields(ToolCallRequest)}
    if isinstance(request.tool, BaseTool):
        given["tool"] = guard(request.tool)
    return GuardedRequest(**given, guard=guard)
