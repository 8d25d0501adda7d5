"""A wrapped tool in a worker: its own method, in another process than the call, from the recorded arguments alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llama_index.core.tools import BaseTool

from .bodies import only_async
from .pending import MARK, dispatching
from .results import judged

Apart = Callable[[dict[str, Any]], Any]


def apart(tool: BaseTool) -> Apart | None:
    """What a worker runs of a tool; None: it is given a workflow's context, which only its caller has."""
    if getattr(tool, "requires_context", False):
        return None
    base: Any = type(tool).__mro__[1] if MARK in vars(type(tool)) else type(tool)

    def sync(admitted: dict[str, Any]) -> Any:
        token = dispatching.set((*dispatching.get(), id(tool)))
        try:
            return judged(base.call(tool, **admitted))
        finally:
            dispatching.reset(token)

    async def asynchronous(admitted: dict[str, Any]) -> Any:
        token = dispatching.set((*dispatching.get(), id(tool)))
        try:
            return judged(await base.acall(tool, **admitted))
        finally:
            dispatching.reset(token)

    return asynchronous if only_async(tool) else sync
