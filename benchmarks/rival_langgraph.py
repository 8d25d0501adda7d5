"""LangGraph: one tool node in a graph, without a checkpointer and with its SQLite one; and a bare tool."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from time import perf_counter
from typing import Any

from langchain_core.messages import AIMessage
from langchain_core.tools import BaseTool, StructuredTool
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode


def nothing(x: int) -> int:
    """Do nothing."""
    return x


def bare_tool() -> BaseTool:
    """The tool as its author wrote it."""
    return StructuredTool.from_function(nothing)


class ToolNodeGraph:
    """START -> tools -> END, each call a conversation of its own."""

    def __init__(self, checkpoints: Path | None) -> None:
        self._db = sqlite3.connect(checkpoints, check_same_thread=False) if checkpoints else None
        graph = StateGraph(MessagesState)
        graph.add_node("tools", ToolNode([bare_tool()]))
        graph.add_edge(START, "tools")
        self._graph: Any = graph.compile(checkpointer=SqliteSaver(self._db) if self._db else None)
        self._n = 0

    def block(self, calls: int) -> float:
        """That many invocations."""
        asked = [(self._message(), {"configurable": {"thread_id": str(self._n)}}) for _ in range(calls)]
        began = perf_counter()
        for message, config in asked:
            self._graph.invoke({"messages": [message]}, config)
        return perf_counter() - began

    def close(self) -> None:
        """Let go of the file."""
        if self._db:
            self._db.close()

    def _message(self) -> AIMessage:
        self._n += 1
        return AIMessage(
            "", tool_calls=[{"name": "nothing", "args": {"x": self._n}, "id": f"call_{self._n}"}]
        )


class Invoking:
    """A tool, invoked with arguments alone."""

    def __init__(self, tool: BaseTool) -> None:
        self._tool, self._n = tool, 0

    def block(self, calls: int) -> float:
        """That many invocations."""
        start, self._n = self._n, self._n + calls
        invoke = self._tool.invoke
        began = perf_counter()
        for number in range(start, start + calls):
            invoke({"x": number})
        return perf_counter() - began
