"""Code that a model writes calls functions, not tools: functions that go through AX, for a CodeActAgent's sandbox."""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable, Iterable
from typing import Any

from llama_index.core.tools import BaseTool, FunctionTool, ToolOutput

from ax_core import AX, PolicyError

_NEEDED = (
    "a CodeActAgent describes these tools to its model, but runs the code in a sandbox of yours: give the sandbox "
    "ax_adapters.llama_index.functions(tools), for plain functions in it do not go through AX"
)


class Handed:
    """The names of one AX's tools that were handed to a sandbox."""

    def __init__(self, _: AX) -> None:
        self.names: set[str] = set()


def functions(tools: Iterable[BaseTool]) -> dict[str, Callable[..., Any]]:
    """Wrapped function tools as functions of the same name, signature and docstring, whose calls go through AX.

    Give them to the sandbox of a ``CodeActAgent``, and the wrapped tools themselves to the agent. They return what the
    tool returned; a verdict of AX raises, for there is no model to tell it to but through the code.

    Raises:
        PolicyError: a tool that is not wrapped, that is no function tool, or that wants a workflow's context.
    """
    made = {}
    for tool in tools:
        name = tool.metadata.name or type(tool).__name__
        if not isinstance(tool, FunctionTool):
            raise PolicyError(f"tool {name!r} is a {type(tool).__name__}: code can only call function tools")
        if tool.requires_context:
            raise PolicyError(
                f"tool {name!r} takes a Context ({tool.ctx_param_name!r}), which code in a sandbox does not have; "
                "leave it out of a CodeActAgent, which refuses it as well"
            )
        if not hasattr(type(tool), "__ax_binding__"):
            raise PolicyError(
                f"tool {name!r} is not wrapped, so its function would not go through AX: wrap it first"
            )
        made[name] = _through(tool, name)
        if (binding := type(tool).__ax_binding__) is not None:  # type: ignore[attr-defined]
            binding.ax.extension(Handed).names.add(name)
    return made


def real_fn(base: type) -> property:
    """A wrapped tool's function: the bare one, but for an agent that will have code call it."""
    bare: property = inspect.getattr_static(base, "real_fn")

    def read(self: Any) -> Any:
        fn = bare.__get__(self, type(self))
        if sys._getframe(1).f_code.co_name != "_get_tool_fns":
            return fn
        ax = type(self).__ax_binding__.ax
        if self.metadata.name not in ax.extension(Handed).names:
            ax.warn_once(_NEEDED)
        return _through(self, getattr(fn, "__name__", self.metadata.name))

    return property(read, doc=bare.__doc__)


def _through(tool: Any, name: str) -> Callable[..., Any]:
    fn = FunctionTool.real_fn.fget(tool)  # type: ignore[attr-defined]
    if inspect.iscoroutinefunction(fn):

        @functools.wraps(fn)
        async def acalled(*args: Any, **kwargs: Any) -> Any:
            return _value(await tool.acall(*args, **kwargs))

        acalled.__name__ = name
        return acalled

    @functools.wraps(fn)
    def called(*args: Any, **kwargs: Any) -> Any:
        return _value(tool.call(*args, **kwargs))

    called.__name__ = name
    return called


def _value(output: ToolOutput) -> Any:
    if output.is_error:
        raise output.exception or RuntimeError(output.content)
    return output.raw_output
