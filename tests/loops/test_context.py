"""What the caller's context says (tenant, user, trace) is what the tool sees, on whatever thread it runs."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextvars import ContextVar

import pytest

from ax_core import AX, current
from support.fresh import fresh

tenant: ContextVar[str] = ContextVar("tenant")
TOOLS = ("plain", "limited", "soon", "soon_limited")


@pytest.fixture
def ax() -> Iterator[AX]:
    with fresh() as ax:

        def plain() -> str:
            said, _ = tenant.get(), tenant.set("somebody else")
            return said

        async def soon() -> str:
            await asyncio.sleep(0)
            return plain()

        for name, fn in zip(TOOLS, (plain, plain, soon, soon), strict=True):
            ax.register(fn, name=name, policy={"timeout": 20} if "limited" in name else None)
        yield ax


@pytest.mark.parametrize("tool", TOOLS)
def test_the_tool_sees_the_callers_context_through_the_sync_door(ax: AX, tool: str) -> None:
    token = tenant.set("t1")
    try:
        assert ax.call(tool) == "t1"
        assert ax.wait_for_result(ax.submit(tool), timeout=20) in ("t1", "somebody else")
    finally:
        tenant.reset(token)


@pytest.mark.parametrize("tool", TOOLS)
async def test_the_tool_sees_the_callers_context_through_the_async_door(ax: AX, tool: str) -> None:
    async def of(name: str) -> str:
        tenant.set(name)
        said = await ax.acall(tool)
        assert tenant.get() == name  # what the tool sets stays with the tool
        return said

    names = [f"t{n}" for n in range(8)]
    assert await asyncio.gather(*[of(name) for name in names]) == names


@pytest.mark.parametrize("tool", TOOLS)
def test_what_is_missing_is_missing_in_the_tool_too(ax: AX, tool: str) -> None:
    """Never a default: the tool fails, as it would bare."""
    with pytest.raises(Exception) as failed:
        ax.call(tool)
    assert isinstance(failed.value.__cause__, LookupError)


@pytest.mark.parametrize("tool", TOOLS)
def test_a_submitted_call_keeps_the_context_it_was_submitted_in(ax: AX, tool: str) -> None:
    token = tenant.set("t1")
    try:
        handle = ax.submit(tool)
    finally:
        tenant.reset(token)
    assert ax.wait_for_result(handle, timeout=20) == "t1"


def test_the_task_is_known_inside_the_body_and_unknown_after_it(ax: AX) -> None:
    def who() -> str | None:
        return current().task_id

    ax.register(who, name="who", policy={"timeout": 20})
    ax.register(who, name="who_here")
    for name in ("who", "who_here"):
        handle = ax.submit(name)
        assert ax.wait_for_result(handle, timeout=20) == handle
        assert ax.call(name) is not None
        assert current().task_id is None
    assert who() is None
