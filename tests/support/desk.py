"""A node with several payments that a person must approve, and who sits before it."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

from langgraph.checkpoint.memory import InMemorySaver

from ax_adapters.langchain import wrap_tools
from ax_core import AX, Effect, Policy
from support.driving import Drive, node_of
from support.scripted import asks, thread

CONFIRM = Policy(Effect.UNSAFE, confirm=True)


class Order:
    """In which order the calls of one execution of a node go ahead: one after another, or all at once."""

    def __init__(self, calls: list[str] | None) -> None:
        self._before = dict(zip(calls[1:], calls, strict=False)) if calls else {}
        self._ended = {call: threading.Event() for call in calls or ()}
        self._aended: dict[str, asyncio.Event] = {}

    def gate(self, request: Any, handler: Any) -> Any:
        before, me = self._before.get(request.tool_call["id"]), self._ended.get(request.tool_call["id"])
        assert before is None or self._ended[before].wait(20)
        try:
            return handler(request)
        finally:
            if me is not None:
                me.set()

    async def agate(self, request: Any, handler: Any) -> Any:
        me = request.tool_call["id"]
        for call in self._ended:
            self._aended.setdefault(call, asyncio.Event())
        if me in self._before:
            await asyncio.wait_for(self._aended[self._before[me]].wait(), 20)
        try:
            return await handler(request)
        finally:
            if me in self._aended:
                self._aended[me].set()


class Desk:
    """A node of payments whose message holds several, one after another in the order of the list."""

    def __init__(self, ax: AX, drive: Drive, *tools: Any, **policies: Any) -> None:
        made = wrap_tools(list(tools), ax, policies={"pay": CONFIRM, **policies})
        self._drive, self._saver, self._made = drive, InMemorySaver(), made

    def ask(self, *calls: Any) -> Any:
        return self.go({"messages": [asks(*calls)]}, [call[2] for call in calls])

    def go(self, value: Any, order: list[str] | None = None, **config: Any) -> Any:
        gates = Order(order)
        graph = node_of(
            *self._made, saver=self._saver, wrap_tool_call=gates.gate, awrap_tool_call=gates.agate
        )
        return self._drive(graph, value, {**thread(), **config})


def shown(result: Any) -> tuple[int, str, str]:
    """The number of the payment that is asked about, its task, and the id of the interrupt."""
    (question,) = result["__interrupt__"]
    return question.value["args"]["n"], question.value["ax_task_id"], question.id
