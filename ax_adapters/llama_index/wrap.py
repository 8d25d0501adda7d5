"""Wrapping: the same kind of container comes back, the originals stay as they are."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from llama_index.core.tools import AsyncBaseTool, BaseTool, FunctionTool
from llama_index.core.tools.tool_spec.base import BaseToolSpec
from llama_index.core.tools.types import BaseToolAsyncAdapter

from ax_core import AX, Effect, Policy, PolicyError

from ..bridge import Binding, check_names, check_on_refusal, policies_for, tell_undeclared
from .bodies import only_async
from .mcp import is_mcp, prepare_mcp
from .pending import MARK
from .registering import name_of, register
from .results import teach
from .shadow import shadow

AnyPolicy = Policy | Effect | str | Mapping[str, Any]


def wrap_tool(
    tool: BaseTool | Callable[..., Any],
    ax: AX,
    *,
    policy: AnyPolicy | None = None,
    timeout: float | None = None,
    on_refusal: str = "return",
) -> BaseTool:
    """One tool under AX; a function is made a FunctionTool first, a wrapped tool comes back as it is.

    Args:
        policy: how AX treats it; none is *undeclared*.
        timeout: the body's limit in seconds, unless the policy has one.
        on_refusal: ``"return"`` AX's verdicts as error outputs for the model, or ``"raise"`` them.

    Raises:
        PolicyError: an invalid policy, a name that is taken, or a tool that cannot be wrapped.
    """
    made = as_tool(tool)
    policies = None if policy is None else {name_of(made): policy}
    wrapped = wrap_tools([made], ax, policies=policies, timeout=timeout, on_refusal=on_refusal)
    return wrapped[0]  # type: ignore[no-any-return]


def wrap_tools(
    tools: Any,
    ax: AX,
    *,
    policies: Mapping[str, AnyPolicy] | None = None,
    default_effect: Effect | str | None = None,
    timeout: float | None = None,
    on_refusal: str = "return",
) -> Any:
    """Tools under AX: a list, tuple or tool spec of tools and functions. Wrapped ones pass through.

    Args:
        policies: by tool name; ``default_effect`` is for those it does not name.
        timeout, on_refusal: as in :func:`wrap_tool`.

    Raises:
        PolicyError: an invalid policy, one for a tool that is not there, clashing names, or a tool that cannot be
            wrapped.
    """
    check_on_refusal(on_refusal)
    if isinstance(tools, BaseToolSpec):
        tools = tools.to_tool_list()
    if isinstance(tools, BaseTool | str) or not isinstance(tools, Sequence):
        raise PolicyError(
            f"wrap_tools takes a list, tuple or tool spec, not {type(tools).__name__}; one tool: wrap_tool"
        )
    ready = [as_tool(item) for item in tools]
    ours = [item for item in ready if not is_wrapped(item)]
    check_names((name_of(item), item) for item in ours)
    made = policies_for([name_of(item) for item in ready], policies, default_effect, timeout)
    for item in ours:
        _wrappable(item, made[name_of(item)])
    teach(ax)
    done = {id(item): _put_under(item, Binding(ax, made[name_of(item)], on_refusal)) for item in ours}
    tell_undeclared(ax, {name_of(item): made[name_of(item)] for item in ours})
    result = [done.get(id(item), item) for item in ready]
    return tuple(result) if isinstance(tools, tuple) else result


def as_tool(item: Any) -> BaseTool:
    """A tool as it is; a function as LlamaIndex's agents would make it one.

    Raises:
        PolicyError: it is neither.
    """
    if isinstance(item, BaseTool):
        return item
    if not callable(item):
        raise PolicyError(f"{item!r} is neither a LlamaIndex tool nor a function ({type(item).__name__})")
    try:
        return (
            FunctionTool.from_defaults(async_fn=item)
            if inspect.iscoroutinefunction(item)
            else FunctionTool.from_defaults(item)
        )
    except Exception as error:
        raise PolicyError(f"{item!r} cannot be made a FunctionTool: {error}") from error


def is_wrapped(tool: BaseTool) -> bool:
    """Whether a tool goes through AX already."""
    inner = tool.base_tool if isinstance(tool, BaseToolAsyncAdapter) else tool
    return hasattr(type(inner), MARK)


def _put_under(tool: BaseTool, binding: Binding) -> BaseTool:
    register(binding, tool)
    if is_mcp(tool):
        prepare_mcp(binding.ax)
    return shadow(tool, binding)


def _wrappable(tool: BaseTool, policy: Policy) -> None:
    """Refuse what AX could not stand in front of.

    Raises:
        PolicyError: with the reason, and what to do instead.
    """
    name, cls = name_of(tool), type(tool)
    if policy.effect is Effect.TRANSACTIONAL and only_async(tool):
        raise PolicyError(f"tool {name!r}: a TRANSACTIONAL tool must be a plain function, not async")
    if not isinstance(tool, AsyncBaseTool):
        return
    code = getattr(cls.__call__, "__code__", None)
    if code is None or cls.__call__.__module__.startswith("llama_index."):
        return
    if not {"super", "__class__", "call", "acall", "__call__"} & {*code.co_names, *code.co_freevars}:
        raise PolicyError(
            f"tool {name!r} ({cls.__name__}) overrides __call__() without reaching call(), so AX cannot stand between; "
            "implement call() and acall() instead, or call the tool through ax.register"
        )
