"""A tool spec under AX: the same spec, whose list of tools is wrapped."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from llama_index.core.tools import FunctionTool
from llama_index.core.tools.tool_spec.base import BaseToolSpec

from ax_core import AX, Effect, PolicyError

from ..bridge import check_on_refusal, policies_for
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
) -> S:
    """A tool spec whose ``to_tool_list()`` gives tools under AX; its state is the original's, which stays bare.

    Its methods called as methods are the original's, too: only the tools go through AX.

    Args:
        policies, default_effect, timeout, on_refusal: as in :func:`wrap_tools`.

    Raises:
        PolicyError: no tool spec, an invalid policy, one for a tool that the spec does not have, clashing names, or a
            function that cannot be made a tool.
    """
    if not isinstance(spec, BaseToolSpec):
        raise PolicyError(f"wrap_spec takes a tool spec, not {type(spec).__name__}; tools: wrap_tools")
    if hasattr(type(spec), _MARK):
        return spec
    check_on_refusal(on_refusal)
    given = dict(policies or {})

    def under_ax(tools: list[FunctionTool]) -> list[FunctionTool]:
        here = {name_of(tool) for tool in tools}
        made: list[FunctionTool] = wrap_tools(
            tools,
            ax,
            policies={name: policy for name, policy in given.items() if name in here},
            default_effect=default_effect,
            timeout=timeout,
            on_refusal=on_refusal,
        )
        return made

    tools = _listed(spec)
    policies_for([name_of(tool) for tool in tools], given, default_effect, timeout)
    under_ax(tools)  # what cannot be wrapped is told now
    return _twin(spec, under_ax)


def _listed(spec: BaseToolSpec) -> list[FunctionTool]:
    try:
        return spec.to_tool_list()
    except (AttributeError, TypeError, ValueError) as error:
        raise PolicyError(f"the tools of {type(spec).__name__} cannot be listed: {error}") from error


def _twin(spec: S, under_ax: Any) -> S:
    base: Any = type(spec)

    def to_tool_list(self: Any, *args: Any, **kwargs: Any) -> Any:
        return under_ax(base.to_tool_list(self, *args, **kwargs))

    members = {
        "__module__": base.__module__,
        "__qualname__": base.__qualname__,
        "__doc__": base.__doc__,
        _MARK: True,
        "to_tool_list": to_tool_list,
    }
    twin: S = object.__new__(type(base)(base.__name__, (base,), members))
    object.__setattr__(twin, "__dict__", spec.__dict__)
    return twin
