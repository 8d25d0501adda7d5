"""A wrapped tool in a worker: its own method, in another process than the call, from the recorded arguments alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from langchain_core.runnables.config import ensure_config
from langchain_core.tools import BaseTool, StructuredTool
from langchain_core.tools import Tool as OneArgumentTool
from langchain_core.tools.base import _get_runnable_config_param

from ..bridge import Binding
from .pending import MARK, Pending, dispatching
from .results import judged, paired
from .sync_bridge import async_only

Apart = Callable[[dict[str, Any]], Any]


def unwrapped(tool: BaseTool) -> type[BaseTool]:
    """The tool's own class, of a tool that is wrapped or not."""
    kind = type(tool)
    return kind.__mro__[1] if MARK in vars(kind) else kind


def apart(binding: Binding, tool: BaseTool) -> Apart | None:
    """What a worker runs of a tool; None: it is given more than its arguments (see :func:`needs_its_caller`)."""
    if needs_its_caller(tool):
        return None
    base = unwrapped(tool)
    run: Any = base._arun if async_only(tool, base) else base._run

    def given(admitted: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        args, kw = base._to_args_and_kwargs(tool, admitted, None)
        config = _get_runnable_config_param(run)
        return args, {**kw, config: ensure_config()} if config else kw

    def sync(admitted: dict[str, Any]) -> Any:
        token = dispatching.set((*dispatching.get(), id(tool)))
        try:
            args, kw = given(admitted)
            return paired(judged(run(tool, *args, **kw)), tool, binding.ax)
        finally:
            dispatching.reset(token)

    async def asynchronous(admitted: dict[str, Any]) -> Any:
        token = dispatching.set((*dispatching.get(), id(tool)))
        try:
            args, kw = given(admitted)
            return paired(judged(await run(tool, *args, **kw)), tool, binding.ax)
        finally:
            dispatching.reset(token)

    return asynchronous if run is base._arun else sync


def needs_its_caller(tool: BaseTool) -> bool:
    """Whether the framework gives a tool what cannot be recorded: a runtime, state, a store, a config, a call's id."""
    if Pending(tool, {}, None, {}).injected:
        return True
    if isinstance(tool, StructuredTool | OneArgumentTool):
        functions = (tool.func, tool.coroutine)
        return any(f is not None and _get_runnable_config_param(f) is not None for f in functions)
    base = unwrapped(tool)
    return _get_runnable_config_param(base._run) is not None
