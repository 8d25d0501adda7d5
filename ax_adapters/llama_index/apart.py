"""A wrapped tool in a worker: its own method, in another process than the call, from the recorded arguments alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llama_index.core.tools import BaseTool

from ..bridge import Entered
from .bodies import only_async
from .pending import MARK
from .results import judged

Apart = Callable[[dict[str, Any]], Any]


def apart(tool: BaseTool) -> Apart | None:
    """What a worker runs of a tool; None: it is :func:`given_by_caller` more than its arguments."""
    if given_by_caller(tool):
        return None
    base: Any = type(tool).__mro__[1] if MARK in vars(type(tool)) else type(tool)

    def body(admitted: dict[str, Any]) -> Any:
        with Entered(tool):
            return judged(base.call(tool, **admitted))

    async def abody(admitted: dict[str, Any]) -> Any:
        with Entered(tool):
            return judged(await base.acall(tool, **admitted))

    return abody if only_async(tool) else body


def given_by_caller(tool: BaseTool) -> tuple[str, ...]:
    """What LlamaIndex gives a tool that cannot be recorded: the name of its parameter for a workflow's context."""
    if not getattr(tool, "requires_context", False):
        return ()
    return (getattr(tool, "ctx_param_name", None) or "ctx",)
