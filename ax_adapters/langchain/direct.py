"""``return_direct`` is for results: a verdict of AX is told to the model, so the agent's loop goes on after it.

LangGraph decides after the tools ran whether to end, by the tools' own flag, in the task in which they ran.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

from langchain_core.runnables.config import var_child_runnable_config

_KEEP = 1024
_withheld: OrderedDict[tuple[Any, str], None] = OrderedDict()


def withhold(config: Any, tool: str) -> None:
    """The call that this config belongs to ended in a verdict."""
    _withheld[_place(config), tool] = None
    while len(_withheld) > _KEEP:
        _withheld.popitem(last=False)


def flag() -> property:
    """The field as the framework reads it: what the tool says, unless a verdict was returned right here."""

    def read(self: Any) -> bool:
        said = bool(self.__dict__.get("return_direct", False))
        return said and (_place(var_child_runnable_config.get()), self.name) not in _withheld

    def write(self: Any, value: bool) -> None:
        self.__dict__["return_direct"] = value

    return property(read, write)


def _place(config: Any) -> Any:
    conf = (config or {}).get("configurable") or {}
    return conf.get("checkpoint_ns") or ""
