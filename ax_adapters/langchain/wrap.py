"""Wrapping: the same kind of container comes back, the originals stay as they are."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import Runnable
from langchain_core.tools import BaseTool, BaseToolkit, create_retriever_tool
from langchain_core.tools import tool as make_tool

from ax_core import AX, Effect, Policy, PolicyError

from ..bridge import (
    Binding,
    check_mcp_hints,
    check_names,
    check_on_refusal,
    hinted,
    policies_for,
    tell_undeclared,
)
from .mcp import hints_of, is_mcp, prepare_mcp
from .pending import MARK
from .registering import announce
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
    sync_bridge: bool = False,
    mcp_hints: str = "tighten",
) -> BaseTool:
    """One tool under AX; a callable or a retriever is made a tool first, a wrapped one comes back as it is.

    Args:
        policy: how AX treats it; none is *undeclared*.
        timeout: the body's limit in seconds, unless the policy has one.
        on_refusal: ``"return"`` AX's verdicts to the model as error messages, or ``"raise"`` them.
        sync_bridge: an async-only tool may be called synchronously too; it runs on an event loop of AX's own.
        mcp_hints: what an MCP server's annotations may do to a tool that no policy names: ``"tighten"`` it only,
            ``"trust"``: relax it too, or ``"confirm"``: tighten it, and let destructiveHint ask a person.

    Raises:
        PolicyError: an invalid policy, a name that is taken, or a class that cannot be wrapped.
    """
    made = as_tool(tool)
    name = made.name
    wrapped = wrap_tools(
        [made],
        ax,
        policies=None if policy is None else {name: policy},
        timeout=timeout,
        on_refusal=on_refusal,
        sync_bridge=sync_bridge,
        mcp_hints=mcp_hints,
    )
    return wrapped[0]  # type: ignore[no-any-return]


def wrap_tools(
    tools: Any,
    ax: AX,
    *,
    policies: Mapping[str, AnyPolicy] | None = None,
    default_effect: Effect | str | None = None,
    timeout: float | None = None,
    on_refusal: str = "return",
    sync_bridge: bool = False,
    mcp_hints: str = "tighten",
) -> Any:
    """Tools under AX: a list, tuple or toolkit of tools, retrievers and callables.

    Provider dicts (``{"type": "web_search"}``) and wrapped tools pass through.

    Args:
        policies: by tool name; ``default_effect`` is for those it does not name.
        timeout, on_refusal, sync_bridge, mcp_hints: as in :func:`wrap_tool`.

    Raises:
        PolicyError: an invalid policy, one for a tool that is not there, clashing names, or a class that cannot
            be wrapped.
    """
    check_on_refusal(on_refusal)
    check_mcp_hints(mcp_hints)
    if isinstance(tools, BaseToolkit):
        tools = tools.get_tools()
    if isinstance(tools, BaseTool) or not isinstance(tools, Sequence):
        raise PolicyError(
            f"wrap_tools takes a list, tuple or toolkit, not {type(tools).__name__}; one tool: wrap_tool"
        )
    ready = [item if isinstance(item, dict) else as_tool(item) for item in tools]
    ours = [item for item in ready if isinstance(item, BaseTool) and not wrapped(item)]
    check_names((item.name, item) for item in ours)
    names = [item.name for item in ready if isinstance(item, BaseTool)]
    made = policies_for(names, policies, default_effect, timeout)
    for item in ours:
        wrappable(item)
        if item.name not in (policies or ()):
            made[item.name] = by_hints(item, made[item.name], mcp_hints)
    teach(ax)
    done = {id(item): put_under(item, Binding(ax, made[item.name], on_refusal, sync_bridge)) for item in ours}
    tell_undeclared(ax, {item.name: made[item.name] for item in ours})
    result = [done.get(id(item), item) for item in ready]
    return tuple(result) if isinstance(tools, tuple) else result


def as_tool(item: Any) -> BaseTool:
    """A tool as it is, or what LangChain makes of a retriever or a callable.

    Raises:
        PolicyError: it is neither.
    """
    if isinstance(item, BaseTool):
        return item
    if isinstance(item, BaseRetriever):
        about = item.__doc__ or f"Looks documents up with {item.get_name()}."
        return create_retriever_tool(item, item.get_name(), about, response_format="content_and_artifact")
    if isinstance(item, Runnable):
        raise PolicyError(
            f"{item.get_name()} is no tool; make it one: runnable.as_tool(name=…, description=…, args_schema=…)"
        )
    if not callable(item):
        raise PolicyError(f"{item!r} is no tool: give a BaseTool, a retriever or a function with a docstring")
    try:
        made: BaseTool = make_tool(item)
        return made
    except ValueError as error:
        raise PolicyError(f"{getattr(item, '__name__', item)!r} cannot be made a tool: {error}") from error


def by_hints(tool: BaseTool, policy: Policy, mode: str) -> Policy:
    """The policy of a tool that none was given for: its MCP server may have said something of it."""
    return hinted(policy, hints_of(tool), mode) if is_mcp(tool) else policy


def wrapped(tool: BaseTool) -> bool:
    """Whether a tool goes through AX already."""
    return hasattr(type(tool), MARK)


def put_under(tool: BaseTool, binding: Binding) -> BaseTool:
    """One tool under a binding.

    Raises:
        PolicyError: its name stands for another schema or policy.
    """
    announce(binding, tool)
    if is_mcp(tool):
        prepare_mcp()
    return shadow(tool, binding)


def wrappable(tool: BaseTool) -> None:
    """Refuse a class in which AX could not stand between the caller and the body.

    Raises:
        PolicyError: it overrides a door wholesale.
    """
    for name in ("invoke", "ainvoke", "run", "arun"):
        method = getattr(type(tool), name)
        code = getattr(method, "__code__", None)
        if code is None or method.__module__.startswith(("langchain_core.", "langchain.", "langgraph.")):
            continue
        if not {"super", "__class__", "_run", "_arun", name} & {*code.co_names, *code.co_freevars}:
            raise PolicyError(
                f"tool {tool.name!r} ({type(tool).__name__}) overrides {name}() without reaching _run(), so AX cannot "
                "stand between; implement _run()/_arun() instead, or call the tool through ax.register"
            )
