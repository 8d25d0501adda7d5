"""A tool spec under AX: the same spec, whose list of tools is wrapped."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, TypeVar

from llama_index.core.tools import FunctionTool
from llama_index.core.tools.tool_spec.base import BaseToolSpec

from ax_core import AX, Effect, PolicyError

from ..bridge import check_mcp_hints, check_on_refusal, hinted, policies_for
from .mcp import hints_of
from .registering import name_of
from .wrap import AnyPolicy, wrap_tools

S = TypeVar("S", bound=BaseToolSpec)

_MARK = "__ax_spec__"


def wrap_spec(
    spec: S,
    ax: AX,
    *,
    policies: Mapping[str, AnyPolicy] | None = None,
    default_effect: Effect | str | None = None,
    timeout: float | None = None,
    on_refusal: str = "return",
    mcp_hints: str = "tighten",
) -> S:
    """A tool spec whose ``to_tool_list()`` gives tools under AX; its state is the original's, which stays bare.

    Its methods called as methods are the original's, too: only the tools go through AX. A spec that lists its tools
    asynchronously (``McpToolSpec``) is asked at the first listing if it is wrapped on an event loop.

    Args:
        policies, default_effect, timeout, on_refusal: as in :func:`wrap_tools`.
        mcp_hints: what an MCP server's annotations may do to a tool that no policy names: ``"tighten"`` it only,
            ``"trust"``: relax it too, or ``"confirm"``: tighten it, and let destructiveHint ask a person.

    Raises:
        PolicyError: no tool spec, an invalid policy, one for a tool that the spec does not have, clashing names, or a
            function that cannot be made a tool.
    """
    if not isinstance(spec, BaseToolSpec):
        raise PolicyError(f"wrap_spec takes a tool spec, not {type(spec).__name__}; tools: wrap_tools")
    if hasattr(type(spec), _MARK):
        return spec
    check_on_refusal(on_refusal)
    check_mcp_hints(mcp_hints)
    given = dict(policies or {})
    hints: dict[str, dict[str, Any]] = {}

    def under_ax(tools: list[FunctionTool], whole: bool = False) -> list[FunctionTool]:
        here = [name_of(tool) for tool in tools]
        made = policies_for(here, given if whole else _those(given, here), default_effect, timeout)
        for name in set(hints) & set(here) - set(given):
            made[name] = hinted(made[name], hints[name], mcp_hints)
        wrapped: list[FunctionTool] = wrap_tools(tools, ax, policies=made, on_refusal=on_refusal)
        return wrapped

    twin = _twin(spec, under_ax, hints)
    if not (_lists_on_a_loop(spec) and _on_a_loop()):
        under_ax(_listed(twin), True)  # what cannot be wrapped is told now
    return twin


def _those(given: Mapping[str, Any], names: list[str]) -> dict[str, Any]:
    return {name: policy for name, policy in given.items() if name in names}


def _lists_on_a_loop(spec: BaseToolSpec) -> bool:
    """Whether its own way to list its tools is asynchronous."""
    own, plain = (getattr(kind, "to_tool_list_async", None) for kind in (type(spec), BaseToolSpec))
    return own is not plain


def _on_a_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def _listed(spec: BaseToolSpec) -> list[FunctionTool]:
    try:
        return spec.to_tool_list()
    except (AttributeError, TypeError, ValueError) as error:
        raise PolicyError(f"the tools of {type(spec).__name__} cannot be listed: {error}") from error


def _twin(spec: S, under_ax: Any, hints: dict[str, dict[str, Any]]) -> S:
    base: Any = type(spec)

    def to_tool_list(self: Any, *args: Any, **kwargs: Any) -> Any:
        return under_ax(base.to_tool_list(self, *args, **kwargs))

    async def to_tool_list_async(self: Any, *args: Any, **kwargs: Any) -> Any:
        return under_ax(await base.to_tool_list_async(self, *args, **kwargs), not args and not kwargs)

    async def fetch_tools(self: Any, *args: Any, **kwargs: Any) -> Any:
        listing = await base.fetch_tools(self, *args, **kwargs)
        hints.update(hints_of(listing))
        return listing

    members = {
        "__module__": base.__module__,
        "__qualname__": base.__qualname__,
        "__doc__": base.__doc__,
        _MARK: True,
        "to_tool_list": to_tool_list,
    }
    more = (to_tool_list_async, fetch_tools)
    members.update((each.__name__, each) for each in more if hasattr(base, each.__name__))
    twin: S = object.__new__(type(base)(base.__name__, (base,), members))
    object.__setattr__(twin, "__dict__", spec.__dict__)
    return twin
