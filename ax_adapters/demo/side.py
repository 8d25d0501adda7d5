"""The two sides of the demo: the user's tools as they are, and the same tools wrapped in one line."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

from langchain_core.tools import BaseTool

from ax_adapters.demo.client import OrderService
from ax_adapters.demo.scenario import Scenario
from ax_adapters.demo.tools import POLICIES, order_tools
from ax_core import AX, Budget

ANSWER_WITHIN = 2.0  # the tools' own HTTP timeout


@dataclass
class Side:
    """Tools and, on the wrapped side, the AX that stands under them."""

    tools: list[BaseTool]
    ax: AX | None = None

    def enter(self, scenario: Scenario) -> AbstractContextManager[Any]:
        """The run that this conversation is: entered again by its key after a crash or a decision."""
        if self.ax is None:
            return nullcontext()
        budget = Budget(tasks=scenario.tasks) if scenario.tasks else None
        return self.ax.run(session=scenario.session, intent=scenario.ask, key=scenario.session, budget=budget)

    def confirming(self, scenario: Scenario) -> list[str]:
        """The calls of this conversation that wait for a person."""
        if self.ax is None:
            return []
        return [task.id for task in self.ax.tasks(session=scenario.session, state="CONFIRMING").tasks]


def bare(url: str) -> Side:
    """What the user has today."""
    return Side(order_tools(OrderService(url, timeout=ANSWER_WITHIN)))


def wrapped(url: str, ax: AX) -> Side:
    """The same, swapped in."""
    from ax_adapters.langchain import wrap_tools

    tools = order_tools(OrderService(url, timeout=ANSWER_WITHIN))
    return Side(wrap_tools(tools, ax, policies=POLICIES), ax)
