"""Time limits of wrapped tools: the caller is freed, and the record says whether the tool has really ended."""

# No postponed annotations: LlamaIndex compares the raw ones of a tool with Context.
import asyncio
import threading
import time
from typing import Any

import pytest
from llama_index.core.tools import FunctionTool

from ax_adapters.llama_index import wrap_tool
from ax_core import AX, OutcomeUnknown, Policy
from support.llama import Call


async def _said(result: Any) -> str:
    return f"said {result}"


@pytest.mark.parametrize("more", [{}, {"async_callback": _said}], ids=["plain", "awaited callback"])
def test_a_function_that_runs_on_is_not_taken_for_ended(more: dict[str, Any], ax: AX, call: Call) -> None:
    """A thread cannot be stopped: its caller is told that nobody knows; a second attempt waits until it has ended."""
    go, begun, runs = threading.Event(), threading.Event(), []

    def slow(n: int) -> str:
        """Take long."""
        runs.append("begin")
        begun.set()
        go.wait(20)
        runs.append("end")
        return "late"

    tool = wrap_tool(FunctionTool.from_defaults(slow, **more), ax, policy=Policy("unsafe", timeout=0.2))
    before = time.monotonic()
    try:
        output = _in_background(call, tool)
        assert time.monotonic() - before < 3
        assert isinstance(output.exception, OutcomeUnknown)
        assert runs == ["begin"]
        assert ax.get(ax.tasks().tasks[0].id).history[-1].closed is False
    finally:
        go.set()
    for _ in range(200):
        task = ax.get(ax.tasks().tasks[0].id)
        if str(task.state) == "SUCCESS":
            break
        time.sleep(0.02)
    # What it did after all settles the doubt.
    assert str(task.state) == "SUCCESS"
    assert task.result.content == ("said late" if more else "late")


def _in_background(call: Call, tool: Any) -> Any:
    """Call on a loop that stays open, as a server's does: a late end is recorded by it."""
    if not call.is_async:
        return tool.call(n=1)
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, daemon=True).start()
    return asyncio.run_coroutine_threadsafe(tool.acall(n=1), loop).result(10)


def test_no_attempt_overlaps_another(ax: AX) -> None:
    """An IDEMPOTENT function that is retried after its time limit: never twice at once."""
    inside, most = [], []

    def slow(n: int) -> str:
        """Take long."""
        inside.append(1)
        most.append(len(inside))
        time.sleep(0.4)
        inside.pop()
        return "done"

    tool = wrap_tool(
        FunctionTool.from_defaults(slow), ax, policy=Policy("idempotent", timeout=0.15, retries=2)
    )

    async def main() -> None:
        await tool.acall(n=1)
        await asyncio.sleep(1.5)

    asyncio.run(main())
    assert max(most) == 1


def test_a_coroutine_that_is_cut_off_has_ended(ax: AX) -> None:
    """It was cancelled, so another attempt may begin at once."""
    ended: list[str] = []

    async def slow(n: int) -> str:
        """Take long."""
        try:
            await asyncio.sleep(0.1 if ended else 5)
        finally:
            ended.append("ended")
        return "done"

    tool = wrap_tool(
        FunctionTool.from_defaults(async_fn=slow),
        ax,
        policy=Policy("idempotent", timeout=0.3, retries=1, backoff=0),
    )
    assert asyncio.run(tool.acall(n=1)).content == "done"
    assert ended == ["ended", "ended"]


def test_without_a_limit_there_is_none(ax: AX, call: Call) -> None:
    """A wrapped tool has no limit that nobody gave it."""
    tool = wrap_tool(FunctionTool.from_defaults(lambda: time.sleep(0.05), name="nap", description="d"), ax)
    assert call(tool).content == "None"
    assert ax.tools.get("nap").policy.timeout is None


def test_a_transactional_function_writes_with_the_record(ax: AX, call: Call) -> None:
    """Sync and async: its writes and AX's record are one commit, and roll back together."""
    from sqlalchemy import text

    from ax_core import current

    def note(n: int) -> str:
        """Note."""
        current().connection.execute(text("CREATE TABLE IF NOT EXISTS notes (n INTEGER)"))
        current().connection.execute(text("INSERT INTO notes VALUES (:n)"), {"n": n})
        if n == 2:
            raise ValueError("no")
        return "noted"

    tool = wrap_tool(FunctionTool.from_defaults(note), ax, policy="transactional")
    assert call(tool, n=1).content == "noted"
    with pytest.raises(ValueError, match="no"):
        call(tool, n=2)
    assert ax._core.db.read(lambda tx: tx.all("SELECT n FROM notes")) == [(1,)]
