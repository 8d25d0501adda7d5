"""Sync and async doors, sync and async tools: every combination works, inside a running loop and out of one."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator

import pytest

from ax_core import AX, ToolFailed, current
from ax_core.dispatch.private import private_loops
from support.aside import Aside
from support.fresh import fresh

TOOLS = ("plain", "limited", "soon", "soon_limited")


@pytest.fixture
def ax() -> Iterator[AX]:
    with fresh() as ax:
        register(ax)
        yield ax


def register(ax: AX) -> None:
    def plain(x: int) -> list[int]:
        if x < 0:
            raise LookupError(f"nothing at {x}")
        return [x, current().attempt]

    async def soon(x: int) -> list[int]:
        await asyncio.sleep(0)
        return plain(x)

    ax.register(plain, name="plain")
    ax.register(plain, name="limited", policy={"timeout": 20})
    ax.register(soon, name="soon")
    ax.register(soon, name="soon_limited", policy={"timeout": 20})


@pytest.mark.parametrize("tool", TOOLS)
class TestEveryDoor:
    def test_the_sync_door_outside_a_loop(self, ax: AX, tool: str) -> None:
        assert ax.call(tool, {"x": 1}) == [1, 1]
        assert ax.wait_for_result(ax.submit(tool, {"x": 2}), timeout=20) == [2, 1]

    async def test_the_sync_door_inside_a_running_loop(self, ax: AX, tool: str) -> None:
        """As in a notebook or a web server: it blocks this loop, as any sync call does, but it works."""
        assert ax.call(tool, {"x": 1}) == [1, 1]
        assert ax.wait_for_result(ax.submit(tool, {"x": 2}), timeout=20) == [2, 1]

    async def test_the_async_door(self, ax: AX, tool: str) -> None:
        assert await ax.acall(tool, {"x": 1}) == [1, 1]
        assert await ax.await_result(await ax.asubmit(tool, {"x": 2}), timeout=20) == [2, 1]

    def test_the_async_door_from_plain_sync_code(self, ax: AX, tool: str) -> None:
        assert [asyncio.run(ax.acall(tool, {"x": n})) for n in range(3)] == [[n, 1] for n in range(3)]

    async def test_a_tool_that_raises_raises_through_every_door(self, ax: AX, tool: str) -> None:
        with pytest.raises(ToolFailed) as sync:
            ax.call(tool, {"x": -1})
        with pytest.raises(ToolFailed) as soon:
            await ax.acall(tool, {"x": -2})
        assert [str(error.value.__cause__) for error in (sync, soon)] == ["nothing at -1", "nothing at -2"]
        assert [type(error.value.__cause__) for error in (sync, soon)] == [LookupError, LookupError]


async def test_an_async_tool_runs_on_the_callers_loop_and_a_sync_one_beside_it(ax: AX) -> None:
    where: list[int] = []

    async def soon() -> None:
        where.append(threading.get_ident())

    def plain() -> None:
        where.append(threading.get_ident())

    ax.register(soon, name="where_soon")
    ax.register(plain, name="where_plain")
    await ax.acall("where_soon")
    await ax.acall("where_plain")
    assert where[0] == threading.get_ident()
    assert where[1] != threading.get_ident()


def test_a_sync_tool_without_a_timeout_runs_on_the_callers_thread(ax: AX) -> None:
    where: list[int] = []
    ax.register(lambda: where.append(threading.get_ident()), name="where")
    ax.call("where")
    assert where == [threading.get_ident()]


async def test_the_loop_is_not_blocked_by_a_sync_tool(ax: AX) -> None:
    """The tool ends only once the loop has turned fifty times meanwhile."""
    turned = threading.Event()

    def patient() -> bool:
        return turned.wait(20)

    ax.register(patient, name="patient")
    ax.register(patient, name="patient_limited", policy={"timeout": 30})

    async def turn() -> None:
        for _ in range(50):
            await asyncio.sleep(0.001)
        turned.set()

    for tool in ("patient", "patient_limited"):
        turned.clear()
        ended, _ = await asyncio.gather(ax.acall(tool), turn())
        assert ended is True


async def test_other_coroutines_go_on_while_the_store_is_busy(ax: AX) -> None:
    """A writer elsewhere holds the store: calls on the loop wait for it, and the loop turns."""
    held = ax._core.db.commits.exclusive()
    waiting = [asyncio.ensure_future(ax.acall("soon", {"x": n})) for n in range(8)]
    for _ in range(50):
        await asyncio.sleep(0.001)
    assert not any(call.done() for call in waiting)
    held.release()
    assert await asyncio.gather(*waiting) == [[n, 1] for n in range(8)]


def test_a_thousand_calls_leave_neither_threads_nor_loops_behind(ax: AX) -> None:
    async def some(count: int) -> None:
        await asyncio.gather(*[ax.acall(TOOLS[n % 4], {"x": n}) for n in range(count)])

    asyncio.run(some(16))
    ax.call("soon", {"x": 1})
    threads, loops = count_threads(), len(private_loops)
    for n in range(100):
        ax.call(TOOLS[n % 4], {"x": n})
    for _ in range(25):
        asyncio.run(some(16))
    for n in range(500):
        ax.call("limited", {"x": n})
    assert len(private_loops) == loops
    assert count_threads() <= threads + 4


def test_every_thread_is_a_daemon(ax: AX) -> None:
    """A hung tool costs a thread, never the end of the interpreter."""
    for tool in TOOLS:
        ax.call(tool, {"x": 1})
        asyncio.run(ax.acall(tool, {"x": 1}))
    assert [thread for thread in threading.enumerate() if not thread.daemon] == [threading.main_thread()]


def test_many_sync_callers_share_one_loop_for_their_async_tools(ax: AX) -> None:
    """They wait for one another inside it, which only works where all of them run at the same time."""
    line: list[asyncio.Event] = []

    async def meet() -> int:
        if not line:
            line.append(asyncio.Event())
        met.append(1)
        if len(met) == 8:
            line[0].set()
        await asyncio.wait_for(line[0].wait(), 20)
        return len(met)

    met: list[int] = []
    ax.register(meet, name="meet")
    calls = [Aside(lambda: ax.call("meet")) for _ in range(8)]
    assert [call.result() for call in calls] == [8] * 8


def count_threads() -> int:
    """Threads of this process as the kernel knows them, for not all of them are known to ``threading``."""
    import os

    return (
        len(os.listdir("/proc/self/task")) if os.path.isdir("/proc/self/task") else threading.active_count()
    )
