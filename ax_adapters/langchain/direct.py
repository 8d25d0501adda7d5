"""``return_direct`` is for results: a verdict of AX is told to the model, so the agent's loop goes on after it.

LangGraph decides after the tools ran whether to end, by the tools' own flag, in the task in which they ran.
"""

from __future__ import annotations

import sys
from collections import OrderedDict
from types import FrameType
from typing import Any

_KEEP = 1024
_FRAMES = 12
"""How far up the router's config may stand (four calls, in LangGraph 1.2)."""

_withheld: OrderedDict[tuple[Any, str], None] = OrderedDict()


def withhold(config: Any, tool: str) -> None:
    """The call that this config belongs to ended in a verdict."""
    if not (place := _place(config)):
        return  # not in a graph: there is no loop to end
    _withheld[place, tool] = None
    while len(_withheld) > _KEEP:
        _withheld.popitem(last=False)


def flag() -> property:
    """The field as the framework reads it: what the tool says, unless a verdict was returned right here."""

    def read(self: Any) -> bool:
        said = bool(self.__dict__.get("return_direct", False))
        return said and not (_withheld and _was_withheld(self.name))

    def write(self: Any, value: bool) -> None:
        self.__dict__["return_direct"] = value

    return property(read, write)


def _was_withheld(tool: str) -> bool:
    # The router runs outside of the context that its node's config was set in, but is called with that config: it
    # stands in a frame a few calls up, and nowhere else.
    frame: FrameType | None = sys._getframe(2)
    for _ in range(_FRAMES):
        if frame is None:
            return False
        config = frame.f_locals.get("config")
        if isinstance(config, dict) and (place := _place(config)):
            return (place, tool) in _withheld
        frame = frame.f_back
    return False


def _place(config: Any) -> Any:
    conf = (config or {}).get("configurable") or {}
    return conf.get("checkpoint_ns") or ""
