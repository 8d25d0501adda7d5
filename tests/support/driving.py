"""Sync or async: one test for both."""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from langchain_core.tools import BaseTool
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode
from pydantic import BaseModel

Wrap = Callable[..., BaseTool]
"""A fixture that puts a tool under AX."""


@dataclass(frozen=True)
class Drive:
    """How a test invokes: ``invoke``, or ``ainvoke`` on a loop of its own."""

    mode: str

    @property
    def is_async(self) -> bool:
        """Whether it is ``ainvoke``."""
        return self.mode == "async"

    def __call__(self, runnable: Any, value: Any, config: Any = None, **more: Any) -> Any:
        """Invoke, and return or raise what comes of it."""
        if self.is_async:
            return asyncio.run(runnable.ainvoke(value, config, **more))
        return runnable.invoke(value, config, **more)


def node_of(
    *tools: BaseTool, state: Any = MessagesState, saver: Any = None, retry: Any = None, **node: Any
) -> Any:
    """A graph of one ToolNode."""
    graph = StateGraph(state)
    graph.add_node("tools", ToolNode(list(tools), **node), retry_policy=retry)
    graph.add_edge(START, "tools")
    graph.add_edge("tools", END)
    return graph.compile(checkpointer=saver)


def call_of(tool: BaseTool | str, args: dict[str, Any], id: str | None = "c1") -> dict[str, Any]:
    """A tool call, as a model makes it."""
    name = tool if isinstance(tool, str) else tool.name
    return {"type": "tool_call", "name": name, "args": args, "id": id}


def came_to(fn: Any, *args: Any) -> tuple[str, type, Any]:
    """What a call came to, in a form that two calls can be compared by."""
    try:
        value = fn(*args)
    except BaseException as error:
        return "raised", type(error), str(error)
    return (
        "returned",
        type(value),
        value.model_dump(exclude={"id"}) if isinstance(value, BaseModel) else value,
    )


def alike(bare: BaseTool, wrapped: BaseTool, value: Any, config: Any = None) -> tuple[str, type, Any]:
    """Assert that both answer the same, sync and async; the answer."""
    answer = came_to(wrapped.invoke, copy.deepcopy(value), config)
    assert answer == came_to(bare.invoke, copy.deepcopy(value), config)
    drive = Drive("async")
    assert came_to(drive, wrapped, copy.deepcopy(value), config) == came_to(
        drive, bare, copy.deepcopy(value), config
    )
    return answer
