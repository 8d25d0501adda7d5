"""Fixtures for wrapped LangChain tools: a fresh AX, sync or async, without a timeout or with one."""

from __future__ import annotations

from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.tools import BaseTool, tool
from langgraph.prebuilt import ToolNode

from ax_adapters.langchain import AXMiddleware, wrap_tool
from ax_core import AX, Budget
from support import driving
from support.desk import Desk
from support.driving import Drive, Wrap


@pytest.fixture(params=["plain", "timeout"])
def wrap(request: pytest.FixtureRequest, ax: AX) -> Wrap:
    """``wrap_tool`` as most people use it, and with a limit: the body of a sync tool then has a thread of its own."""
    limit = 20.0 if request.param == "timeout" else None

    def under_ax(tool: Any, **more: Any) -> BaseTool:
        return wrap_tool(tool, ax, **{"timeout": limit, **more})

    return under_ax


@pytest.fixture(params=["plain", "timeout", "middleware"])
def seam(request: pytest.FixtureRequest, ax: AX, monkeypatch: pytest.MonkeyPatch) -> Wrap:
    """How the tools of an agent or a node come under AX: wrapped, wrapped with a limit, or bare, under the middleware
    of every agent and node that the test makes."""
    if request.param != "middleware":
        limit = 20.0 if request.param == "timeout" else None
        return lambda tool, **more: wrap_tool(tool, ax, **{"timeout": limit, **more})
    policies: dict[str, Any] = {}

    def guard() -> AXMiddleware:
        return AXMiddleware(ax, policies=policies, budget=Budget(tasks=None))

    def agent(model: Any, tools: Any, *, middleware: Any = (), **more: Any) -> Any:
        return create_agent(model, tools, middleware=[guard(), *middleware], **more)

    class Guarded(ToolNode):
        def __init__(self, tools: Any, **more: Any) -> None:
            own = guard()
            super().__init__(
                tools, wrap_tool_call=own.wrap_tool_call, awrap_tool_call=own.awrap_tool_call, **more
            )

    monkeypatch.setattr(driving, "ToolNode", Guarded)
    for name, made in (("create_agent", agent), ("ToolNode", Guarded)):
        if hasattr(request.module, name):
            monkeypatch.setattr(request.module, name, made)

    def left_bare(tool: Any, *, policy: Any = None) -> BaseTool:
        if policy is not None:
            policies[tool.name] = policy
        return tool  # type: ignore[no-any-return]

    return left_bare


@pytest.fixture(params=["sync", "async"])
def drive(request: pytest.FixtureRequest) -> Drive:
    return Drive(request.param)


@pytest.fixture
def paid() -> list[int]:
    return []


@pytest.fixture
def desk(ax: AX, drive: Drive, paid: list[int]) -> Desk:
    @tool
    def pay(n: int) -> str:
        """Pays."""
        paid.append(n)
        return f"paid {n}"

    return Desk(ax, drive, pay)
