"""What AX runs of a framework's tool once a call was admitted: the tool's own method, with the admitted arguments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from langchain_core.tools.base import _get_runnable_config_param

from ..bridge import Binding, Entered
from .inside import under
from .pending import Pending
from .results import Handover, handed_over, judged, paired


def body_of(
    binding: Binding, pending: Pending, run: Callable[..., Any], args: tuple[Any, ...], kw: dict[str, Any]
) -> Callable[[dict[str, Any]], Any]:
    """The body of a sync tool.

    Args:
        run: the method of its class; ``args`` and ``kw``: what the framework would call it with.
    """
    tool = pending.tool

    def body(admitted: dict[str, Any]) -> Any:
        try:
            with Entered(tool), under(pending.inside):
                a, k = _edited(tool, admitted, kw, pending) if pending.edited(admitted) else (args, kw)
                return paired(judged(run(tool, *a, **k)), tool, binding.ax)
        except handed_over() as told:
            return Handover(told.args[0], told)

    return body


def abody_of(
    binding: Binding, pending: Pending, run: Callable[..., Any], args: tuple[Any, ...], kw: dict[str, Any]
) -> Callable[[dict[str, Any]], Any]:
    """:func:`body_of` an async tool."""
    tool = pending.tool

    async def body(admitted: dict[str, Any]) -> Any:
        try:
            with Entered(tool), under(pending.inside):
                a, k = _edited(tool, admitted, kw, pending) if pending.edited(admitted) else (args, kw)
                return paired(judged(await run(tool, *a, **k)), tool, binding.ax)
        except handed_over() as told:
            return Handover(told.args[0], told)

    return body


def _edited(tool: Any, admitted: dict[str, Any], kw: dict[str, Any], pending: Pending) -> Any:
    """The framework's own reading of arguments that a person changed, with the injected ones as they were."""
    raw = pending.raw if isinstance(pending.raw, dict) else {}
    injected = {name: value for name, value in raw.items() if name in pending.injected}
    args, made = tool._to_args_and_kwargs({**injected, **admitted}, pending.tool_call_id)
    extra = {
        name: kw[name]
        for name in ("run_manager", _get_runnable_config_param(tool._run))
        if name and name in kw
    }
    return args, {**made, **extra}
