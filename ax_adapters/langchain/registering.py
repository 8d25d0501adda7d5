"""A framework tool's record in AX: its name, the schema its model sees, and its policy."""

from __future__ import annotations

from typing import Any

from langchain_core.tools import BaseTool

from ax_core import Effect, Tool

from ..bridge import Binding

DECLARED = frozenset({Effect.IDEMPOTENT, Effect.KEYED, Effect.TRANSACTIONAL, Effect.UNSAFE})
"""Effects of tools that act and whose author asked for care."""


def registered(binding: Binding, tool: BaseTool) -> Tool[..., Any]:
    """The tool's record in AX; made at wrapping, and again where the tool was renamed since."""
    known = binding.ax.tools.find(tool.name)
    return known if known is not None else register(binding, tool)


def register(binding: Binding, tool: BaseTool) -> Tool[..., Any]:
    """Make a framework tool known to AX.

    Raises:
        PolicyError: the name stands for another schema or policy, or a declared tool's dict schema cannot be kept.
    """
    made: Tool[..., Any] = Tool(
        name=tool.name,
        description=tool.description,
        schema=visible_schema(tool),
        policy=binding.policy,
        fn=_elsewhere,
        validated_elsewhere=True,
    )
    if isinstance(tool.args_schema, dict) and binding.policy.effect in DECLARED:
        _ = made.gate  # what stands between the model and an effect is compiled now, not at the first call
    return binding.ax.add(made)


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
