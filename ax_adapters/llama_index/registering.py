"""A LlamaIndex tool's record in AX: its name, the schema its model sees, and its policy."""

from __future__ import annotations

import inspect
from typing import Any

from llama_index.core.tools import BaseTool, FunctionTool

from ax_core import Effect, PolicyError, Tool

from ..bridge import Binding
from .apart import apart, given_by_caller
from .bodies import only_async

DECLARED = frozenset({Effect.IDEMPOTENT, Effect.KEYED, Effect.TRANSACTIONAL, Effect.UNSAFE})
"""Effects of tools that act and whose author asked for care."""


def name_of(tool: BaseTool) -> str:
    """A tool's name.

    Raises:
        PolicyError: it has none.
    """
    name = tool.metadata.name
    if not name:
        raise PolicyError(f"a {type(tool).__name__} has no name; give its ToolMetadata one")
    return name


def registered(binding: Binding, tool: BaseTool) -> Tool[..., Any]:
    """The tool's record in AX; made at wrapping, and again where the tool was renamed since."""
    known = binding.ax.tools.find(name_of(tool))
    return known if known is not None else register(binding, tool)


def register(binding: Binding, tool: BaseTool) -> Tool[..., Any]:
    """Make a framework tool known to AX.

    Raises:
        PolicyError: the name stands for another schema or policy, or a declared tool's schema cannot be kept.
    """
    made: Tool[..., Any] = Tool(
        name=name_of(tool),
        description=tool.metadata.description,
        schema=_schema(binding, tool),
        policy=binding.policy,
        fn=_elsewhere,
        validated_elsewhere=True,
        apart=apart(tool),
        given=given_by_caller(tool),
        is_async=only_async(tool),
    )
    if binding.policy.effect in DECLARED:
        _gate(made)  # what stands between the model and an effect is compiled now, not at the first call
    return binding.ax.add(made)


def visible_schema(tool: BaseTool) -> dict[str, Any]:
    """The JSON Schema that the model sees of a tool; open where the function takes any name.

    Raises:
        PolicyError: there is none.
    """
    try:
        schema: dict[str, Any] = tool.metadata.get_parameters_dict()
    except Exception as error:  # whatever pydantic says of types that no model could be told of
        raise PolicyError(
            f"tool {name_of(tool)!r}: there is no JSON Schema of its arguments ({type(error).__name__}: {error}); "
            "give it an fn_schema, and hide what the model does not give with partial_params"
        ) from error
    if takes_any_name(tool):
        schema["additionalProperties"] = True
    return schema


def _schema(binding: Binding, tool: BaseTool) -> dict[str, Any]:
    """The visible schema, or an open one: what AX does not check needs none, and code can call it without one."""
    try:
        return visible_schema(tool)
    except PolicyError as problem:
        if binding.policy.effect in DECLARED:
            raise
        binding.ax.warn_once(f"{problem}; until then no model can be told of it, wrapped or bare")
        return {"type": "object", "additionalProperties": True}


def takes_any_name(tool: BaseTool) -> bool:
    """Whether arguments beyond the schema's reach the function."""
    model = tool.metadata.fn_schema
    if model is not None and getattr(model, "model_config", {}).get("extra") == "allow":
        return True
    if not isinstance(tool, FunctionTool):
        return False
    try:
        signature = inspect.signature(tool.real_fn)
    except (TypeError, ValueError):
        return False
    return any(each.kind is each.VAR_KEYWORD for each in signature.parameters.values())


def _gate(tool: Tool[..., Any]) -> None:
    try:
        _ = tool.gate
    except ValueError as error:
        raise PolicyError(f"tool {tool.name!r}: its schema cannot be kept: {error}") from error


def _elsewhere(*_: Any, **__: Any) -> Any:
    raise RuntimeError("this tool runs in the framework call that wraps it")
