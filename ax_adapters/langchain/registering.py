"""A framework tool's record in AX: its name, the schema its model sees, and its policy."""

from __future__ import annotations

from typing import Any

from langchain_core.tools import BaseTool

from ax_core import Tool

from ..bridge import Binding


def registered(binding: Binding, tool: BaseTool) -> Tool[..., Any]:
    """The tool's record in AX; made at wrapping, and again where the tool was renamed since."""
    known = binding.ax.tools.find(tool.name)
    return known if known is not None else register(binding, tool)


def register(binding: Binding, tool: BaseTool) -> Tool[..., Any]:
    """Make a framework tool known to AX.

    Raises:
        PolicyError: the name stands for another schema or policy.
    """
    return binding.ax.add(
        Tool(
            name=tool.name,
            description=tool.description,
            schema=visible_schema(tool),
            policy=binding.policy,
            fn=_elsewhere,
            validated_elsewhere=True,
        )
    )


def visible_schema(tool: BaseTool) -> dict[str, Any]:
    """The JSON Schema that the model sees of a tool."""
    shown = tool.tool_call_schema
    if isinstance(shown, dict):
        return shown
    schema: dict[str, Any] = (
        shown.model_json_schema() if hasattr(shown, "model_json_schema") else shown.schema()
    )
    return schema


def _elsewhere(*_: Any, **__: Any) -> Any:
    raise RuntimeError("this tool runs in the framework call that wraps it")
