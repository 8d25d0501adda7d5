"""A framework tool's record in AX: its name, the schema its model sees, and its policy."""

from __future__ import annotations

from typing import Any

from langchain_core.tools import BaseTool
from pydantic import PydanticUndefinedAnnotation
from pydantic.errors import PydanticInvalidForJsonSchema

from ax_core import Effect, PolicyError, Tool

from ..bridge import Binding
from .apart import apart, given_by_caller, unwrapped
from .sync_bridge import async_only

DECLARED = frozenset({Effect.IDEMPOTENT, Effect.KEYED, Effect.TRANSACTIONAL, Effect.UNSAFE})
"""Effects of tools that act and whose author asked for care."""


def registered(binding: Binding, tool: BaseTool) -> Tool[..., Any]:
    """The tool's record in AX; made at wrapping, and again where the tool was renamed since."""
    known = binding.ax.tools.find(tool.name)
    return known if known is not None else register(binding, tool)


def announce(binding: Binding, tool: BaseTool) -> None:
    """Make a framework tool known to AX as it is wrapped, or, where its schema names a type that is defined later, at
    its first call.

    Raises:
        PolicyError: as :func:`register`; or there is no JSON Schema of its arguments.
    """
    try:
        register(binding, tool)
    except PydanticUndefinedAnnotation as error:
        if binding.ax.tools.find(tool.name) is not None:
            raise PolicyError(
                f"tool {tool.name!r}: its arguments name {error.name!r}, which is not defined yet, and a tool of that "
                "name is registered already; wrap it once the type is defined"
            ) from error
    except PydanticInvalidForJsonSchema as error:
        raise PolicyError(
            f"tool {tool.name!r}: there is no JSON Schema of its arguments, so no model could be told of it either "
            f"({error.message}); mark arguments that the model does not give as InjectedToolArg"
        ) from error


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
        apart=apart(binding, tool),
        given=given_by_caller(tool),
        is_async=async_only(tool, unwrapped(tool)),
    )
    if isinstance(tool.args_schema, dict) and binding.policy.effect in DECLARED:
        try:  # what stands between the model and an effect is compiled now, not at the first call
            _ = made.gate
        except PolicyError as error:
            raise PolicyError(f"tool {tool.name!r}: {error}") from error
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
