"""Nothing that AX does on an event loop blocks it, the very first use included: blockbuster watches."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from blockbuster import BlockingError, blockbuster_ctx

from ax_core import AX, AXError, Budget, ConfirmationPending
from support import script

Use = Callable[[AX], Awaitable[Any]]


def register(ax: AX) -> AX:
    def plain(n: int = 1) -> int:
        time.sleep(0.001)  # blocking is a sync tool's good right: it is not on the loop
        return n

    async def soon(n: int = 1) -> int:
        await asyncio.sleep(0.001)
        return n

    for name, fn in (("plain", plain), ("soon", soon)):
        ax.register(fn, name=name, policy={"effect": "unsafe"})
        ax.register(fn, name=f"{name}_limited", policy={"effect": "unsafe", "timeout": 30})
    ax.register(plain, name="ask", policy={"effect": "unsafe", "confirm": True})
    ax.register(
        plain, name="ask_at_once", policy={"effect": "unsafe", "confirm": True, "run_on_confirm": True}
    )
    return ax


@pytest.fixture
async def ax(tmp_path: Path) -> AsyncIterator[AX]:
    made = register(AX(f"sqlite:///{tmp_path / 'ax.db'}"))
    yield made
    await made.aclose()


@pytest.fixture
def watched() -> Iterator[None]:
    with blockbuster_ctx():
        yield


async def calls(ax: AX) -> None:
    """Every tool, alone, together, and again."""
    for tool in ("plain", "plain_limited", "soon", "soon_limited"):
        assert await ax.acall(tool, {"n": 3}, request_id=tool) == 3
        assert await ax.acall(tool, {"n": 3}, request_id=tool) == 3
        assert (
            await asyncio.gather(*[ax.acall(tool, {"n": n}, request_id=f"{tool} together") for n in [5] * 8])
            == [5] * 8
        )


async def submissions(ax: AX) -> None:
    handles = [
        await ax.asubmit(tool, {"n": 2}) for tool in ("plain", "plain_limited", "soon", "soon_limited")
    ]
    assert [await ax.await_result(handle, timeout=20) for handle in handles] == [2] * 4


async def runs(ax: AX) -> None:
    async with ax.run(session="s", key="k", budget=Budget(tasks=5)) as run:
        await ax.acall("soon", {"n": 1})
        ax.register(
            lambda: 1, name=f"registered in {run.id}"
        )  # to be published at the next use, which may be the exit
    await ax.atree(run.id)


async def looks(ax: AX) -> None:
    handle = await ax.asubmit("plain")
    await ax.await_result(handle, timeout=20)
    assert (await ax.aget(handle)).result == 1
    assert len((await ax.atasks(limit=1)).tasks) == 1
    await ax.afind_request("r")


async def decisions(ax: AX) -> None:
    for tool in ("ask", "ask_at_once"):
        for verb in (ax.aconfirm, ax.areject, ax.acancel):
            with pytest.raises(ConfirmationPending) as pending:
                await ax.acall(tool)
            assert (await verb(pending.value.task_id or "", by="ops")).done
    with suppress(AXError):
        await ax.arequeue(pending.value.task_id or "", by="ops")
    with suppress(AXError):
        await ax.aresolve(pending.value.task_id or "", happened=True, by="ops")


async def refusals(ax: AX) -> None:
    for payload in ({"n": "x"}, {"m": 1}):
        with pytest.raises(AXError):
            await ax.acall("plain", payload)
    with pytest.raises(AXError):
        await ax.acall("unknown")
    with pytest.raises(AXError):
        await ax.aget("unknown")


async def cancellations(ax: AX) -> None:
    async def hang() -> None:
        await asyncio.sleep(60)

    ax.register(hang, name="hang", policy={"effect": "unsafe"})
    ax.register(hang, name="hang_limited", policy={"effect": "unsafe", "timeout": 0.05})
    with pytest.raises(AXError):
        await ax.acall("hang_limited")
    going = asyncio.ensure_future(ax.acall("hang"))
    await asyncio.sleep(0.05)
    going.cancel()
    with pytest.raises(asyncio.CancelledError):
        await going


USES: list[Use] = [calls, submissions, runs, looks, decisions, refusals, cancellations]


@pytest.mark.usefixtures("watched")
@pytest.mark.parametrize("use", USES, ids=lambda use: use.__name__)
async def test_nothing_blocks_the_loop(ax: AX, use: Use) -> None:
    await use(ax)
    await use(ax)


@pytest.mark.usefixtures("watched")
async def test_the_watch_is_a_watch() -> None:
    """Blockbuster is at work here, and would tell."""
    with pytest.raises(BlockingError):
        time.sleep(0.01)  # noqa: ASYNC251


@pytest.mark.usefixtures("watched")
async def test_opening_and_closing_in_a_block_do_not_block_either(tmp_path: Path) -> None:
    async with register(AX(f"sqlite:///{tmp_path / 'ax.db'}")) as ax:
        await calls(ax)
    async with register(AX("sqlite://")) as ax:
        await calls(ax)


def test_the_very_first_use_in_a_fresh_interpreter_does_not_block(tmp_path: Path) -> None:
    """Nothing is imported yet, the file does not exist, and the first thing that happens is a call on the loop."""
    said = script.run(
        """
        import asyncio, sys
        from blockbuster import blockbuster_ctx
        from ax_core import AX
        ax = AX(f"sqlite:///{sys.argv[1]}/ax.db")

        @ax.tool(effect="unsafe")
        async def soon(n: int) -> int:
            return n

        @ax.tool(effect="unsafe")
        def plain(n: int) -> int:
            return n

        async def main():
            with blockbuster_ctx():
                async with ax:
                    return [await soon(1), await ax.acall("plain", {"n": 2})]

        print(asyncio.run(main()))
        """,
        tmp_path,
        tmp_path,
    )
    assert said == "[1, 2]"
