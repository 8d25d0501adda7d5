"""``sync_bridge``: an async-only tool called synchronously runs on an event loop of AX's own."""

from __future__ import annotations

import inspect
from typing import Any

from langchain_core.callbacks import AsyncCallbackManagerForToolRun, CallbackManagerForToolRun
from langchain_core.tools import BaseTool
from langchain_core.tools.base import _get_runnable_config_param


def async_only(tool: Any, base: type[BaseTool]) -> bool:
    """Whether the sync form of a tool does nothing but refuse."""
    if base._arun is BaseTool._arun:
        return False
    if getattr(tool, "coroutine", None) is not None:
        return getattr(tool, "func", None) is None
    code = getattr(inspect.unwrap(base._run), "__code__", None)
    names = set() if code is None else set(code.co_names)
    return "NotImplementedError" in names and names <= {"NotImplementedError", "name"}


def for_async(base: type[BaseTool], given: dict[str, Any], config: Any) -> dict[str, Any]:
    """What ``_run`` was given, as ``_arun`` takes it."""
    made = dict(given)
    here, there = _get_runnable_config_param(base._run), _get_runnable_config_param(base._arun)
    if here:
        made.pop(here, None)
    if there:
        made[there] = config
    manager = made.get("run_manager")
    if isinstance(manager, CallbackManagerForToolRun):
        del made["run_manager"]
        if "run_manager" in inspect.signature(base._arun).parameters:
            made["run_manager"] = _as_async(manager)
    return made


def _as_async(manager: CallbackManagerForToolRun) -> AsyncCallbackManagerForToolRun:
    return AsyncCallbackManagerForToolRun(
        run_id=manager.run_id,
        handlers=manager.handlers,
        inheritable_handlers=manager.inheritable_handlers,
        parent_run_id=manager.parent_run_id,
        tags=manager.tags,
        inheritable_tags=manager.inheritable_tags,
        metadata=manager.metadata,
        inheritable_metadata=manager.inheritable_metadata,
    )
