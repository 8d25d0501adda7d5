"""What the body of a tool sees of the config of the node that it runs in."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from langchain_core.runnables.config import var_child_runnable_config


class Untaken:
    """The value that nobody has taken yet, as the body of one call sees it."""

    def __init__(self, pad: Any, consumed: Callable[[], None], given: bool) -> None:
        self.whole, self._consumed, self._given = pad, consumed, given

    def __call__(self, consume: bool = False) -> Any:
        if not self._given:
            return None
        if consume:
            self._consumed()
        return self.whole.get_null_resume(consume)


def whole(pad: Any) -> Any:
    """The scratchpad that all calls of a node share, for one that a body sees."""
    return getattr(getattr(pad, "get_null_resume", None), "whole", pad)


@contextmanager
def under(part: Mapping[str, Any] | None, config: Any = None) -> Iterator[None]:
    """Run with a part of LangGraph's config changed; with None nothing is."""
    if part is None:
        yield
        return
    now = config if config is not None else var_child_runnable_config.get() or {}
    token = var_child_runnable_config.set({**now, "configurable": {**now.get("configurable", {}), **part}})
    try:
        yield
    finally:
        var_child_runnable_config.reset(token)
