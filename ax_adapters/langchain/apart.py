"""A wrapped tool in a worker: its own method, in another process than the call, from the recorded arguments alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from langchain_core.runnables.config import ensure_config
from langchain_core.tools import BaseTool, StructuredTool
from langchain_core.tools import Tool as OneArgumentTool
from langchain_core.tools.base import _get_runnable_config_param

from ..bridge import Binding, Entered
from .pending import MARK, Pending
from .results import judged, paired
from .sync_bridge import async_only

Apart = Callable[[dict[str, Any]], Any]


def unwrapped(tool: BaseTool) -> type[BaseTool]:
    """The tool's own class, of a tool that is wrapped or not."""
    kind = type(tool)
    return kind.__mro__[1] if MARK in vars(kind) else kind


def apart(binding: Binding, tool: BaseTool) -> Apart | None:
    """What a worker runs of a tool; None: it is :func:`given_by_caller` more than its arguments."""
    if given_by_caller(tool):
        return None
    base = unwrapped(tool)
    run: Any = base._arun if async_only(tool, base) else base._run

    def given(admitted: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        args, kw = base._to_args_and_kwargs(tool, admitted, None)
        config = _get_runnable_config_param(run)
        return args, {**kw, config: ensure_config()} if config else kw

    def body(admitted: dict[str, Any]) -> Any:
        with Entered(tool):
            args, kw = given(admitted)
            return paired(judged(run(tool, *args, **kw)), tool, binding.ax)

    async def abody(admitted: dict[str, Any]) -> Any:
        with Entered(tool):
            args, kw = given(admitted)
            return paired(judged(await run(tool, *args, **kw)), tool, binding.ax)

    return abody if run is base._arun else body


def given_by_caller(tool: BaseTool) -> tuple[str, ...]:
    """The parameters for which the framework gives a tool what cannot be recorded: a runtime, state, a store, a config,
    a call's id."""
    functions: tuple[Any, ...] = (unwrapped(tool)._run,)
    if isinstance(tool, StructuredTool | OneArgumentTool):
        functions = tuple(each for each in (tool.func, tool.coroutine) if each is not None)
    configs = {name for each in functions if (name := _get_runnable_config_param(each)) is not None}
    return tuple(sorted(configs | Pending(tool, {}, None, {}).injected))
