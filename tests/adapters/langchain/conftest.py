"""Fixtures for wrapped LangChain tools: a fresh AX, sync or async, without a timeout or with one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from langchain_core.tools import BaseTool

from ax_adapters.langchain import wrap_tool
from ax_core import AX
from support.driving import Drive, Wrap
from support.fresh import fresh
from support.skew import Skew


@pytest.fixture
def clock() -> Skew:
    return Skew()


@pytest.fixture
def ax(clock: Skew) -> Iterator[AX]:
    with fresh(clock) as made:
        yield made


@pytest.fixture(params=["plain", "timeout"])
def wrap(request: pytest.FixtureRequest, ax: AX) -> Wrap:
    """``wrap_tool`` as most people use it, and with a limit: the body of a sync tool then has a thread of its own."""
    limit = 20.0 if request.param == "timeout" else None

    def under_ax(tool: Any, **more: Any) -> BaseTool:
        return wrap_tool(tool, ax, **{"timeout": limit, **more})

    return under_ax


@pytest.fixture(params=["sync", "async"])
def drive(request: pytest.FixtureRequest) -> Drive:
    return Drive(request.param)
