"""Fixtures for wrapped LlamaIndex tools: a fresh AX, sync or async, without a timeout or with one."""

from __future__ import annotations

from typing import Any

import pytest
from llama_index.core.tools import BaseTool

from ax_adapters.llama_index import wrap_tool
from ax_core import AX, Policy
from support.llama import Call, Wrap


@pytest.fixture(params=["plain", "timeout"])
def wrap(request: pytest.FixtureRequest, ax: AX) -> Wrap:
    """``wrap_tool`` as most people use it, and with a limit."""
    limit = 20.0 if request.param == "timeout" else None

    def under_ax(tool: Any, **more: Any) -> BaseTool:
        return wrap_tool(tool, ax, **{"timeout": limit, **more})

    return under_ax


@pytest.fixture(params=["sync", "async"])
def call(request: pytest.FixtureRequest) -> Call:
    return Call(request.param)


@pytest.fixture
def refunded() -> list[tuple[str, int]]:
    return []


@pytest.fixture
def refund(ax: AX, refunded: list[tuple[str, int]]) -> Any:
    def refund(order: str, amount: int = 1) -> str:
        """Refund an order."""
        refunded.append((order, amount))
        return f"refunded {order} {amount}"

    return wrap_tool(refund, ax, policy=Policy("unsafe", confirm=True))
