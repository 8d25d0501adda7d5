"""Closing: what runs is waited for, what does not end is left honest, and nothing works afterwards."""

from __future__ import annotations

import asyncio
import inspect
import sqlite3
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ax_core import AX, Closed
from support import script
from support.aside import Aside
from support.ledger import until

ID = "00000000-0000-7000-8000-000000000000"
USES: dict[str, Callable[[AX], Any]] = {
    "call": lambda ax: ax.call("tick"),
    "acall": lambda ax: ax.acall("tick"),
    "a tool": lambda ax: ax.tools.get("tick")(),
    "submit": lambda ax: ax.submit("tick"),
    "asubmit": lambda ax: ax.asubmit("tick"),
    "wait_for_result": lambda ax: ax.wait_for_result(ID),
    "await_result": lambda ax: ax.await_result(ID),
    "get": lambda ax: ax.get(ID),
    "aget": lambda ax: ax.aget(ID),
    "find_request": lambda ax: ax.find_request("r"),
    "tree": lambda ax: ax.tree(ID),
    "atree": lambda ax: ax.atree(ID),
    "tasks": lambda ax: ax.tasks(),
    "atasks": lambda ax: ax.atasks(),
    "audit": lambda ax: ax.audit(ID),
    "inbox": lambda ax: ax.inbox(),
    "verify": lambda ax: ax.verify(ID),
    "confirm": lambda ax: ax.confirm(ID, by="ops"),
    "aconfirm": lambda ax: ax.aconfirm(ID, by="ops"),
    "reject": lambda ax: ax.reject(ID, by="ops"),
    "areject": lambda ax: ax.areject(ID, by="ops"),
    "cancel": lambda ax: ax.cancel(ID),
    "acancel": lambda ax: ax.acancel(ID),
    "requeue": lambda ax: ax.requeue(ID, by="ops"),
    "arequeue": lambda ax: ax.arequeue(ID, by="ops"),
    "resolve": lambda ax: ax.resolve(ID, happened=True, by="ops"),
    "aresolve": lambda ax: ax.aresolve(ID, happened=True, by="ops"),
    "extend": lambda ax: ax.extend(ID, by="ops", tasks=1),
    "aextend": lambda ax: ax.aextend(ID, by="ops", tasks=1),
    "pause": lambda ax: ax.pause("tick", by="ops"),
    "resume": lambda ax: ax.resume("tick", by="ops"),
    "run": lambda ax: ax.run().__enter__(),
    "async run": lambda ax: ax.run().__aenter__(),
    "serve": lambda ax: ax.serve().__enter__(),
    "another namespace": lambda ax: ax.for_namespace("acme").call("tick"),
}


def opened(path: Path) -> AX:
    ax = AX(f"sqlite:///{path / 'ax.db'}")
    ax.register(lambda: 1, name="tick")
    return ax


@pytest.mark.parametrize("used", [True, False], ids=["used", "never used"])
@pytest.mark.parametrize("use", USES)
def test_use_after_close_is_closed(tmp_path: Path, use: str, used: bool) -> None:
    ax = opened(tmp_path)
    if used:
        ax.call("tick")
    ax.close()
    with pytest.raises(Closed, match="closed"):
        answer = USES[use](ax)
        if inspect.isawaitable(answer):
            asyncio.run(_awaiting(answer))
    assert (tmp_path / "ax.db").exists() == used


async def _awaiting(answer: Any) -> Any:
    return await answer


def test_closing_twice_is_closing_once(tmp_path: Path) -> None:
    ax = opened(tmp_path)
    ax.call("tick")
    ax.close()
    ax.close()
    asyncio.run(ax.aclose())


def test_a_block_closes_at_its_end_also_by_an_exception(tmp_path: Path) -> None:
    with pytest.raises(LookupError), opened(tmp_path) as ax:
        ax.call("tick")
        raise LookupError
    with pytest.raises(Closed):
        ax.call("tick")


async def test_an_async_block_closes_at_its_end(tmp_path: Path) -> None:
    async with opened(tmp_path) as ax:
        assert await ax.acall("tick") == 1
    with pytest.raises(Closed):
        await ax.acall("tick")


def test_closing_leaves_one_file_and_no_open_connection(tmp_path: Path) -> None:
    ax = opened(tmp_path)
    ax.call("tick")
    asyncio.run(ax.acall("tick"))
    ax.tasks()
    ax.close()
    assert [path.name for path in tmp_path.iterdir()] == ["ax.db"]
    alone = sqlite3.connect(tmp_path / "ax.db", timeout=0)
    alone.execute("PRAGMA locking_mode=EXCLUSIVE")
    alone.execute("PRAGMA journal_mode=DELETE")  # refused while anybody else has it open
    alone.close()


@pytest.mark.parametrize("door", ["submit", "call"])
def test_what_runs_is_waited_for(tmp_path: Path, door: str) -> None:
    """Also what was submitted a moment ago, and has not begun yet."""
    inside, go = threading.Event(), threading.Event()

    def patient() -> str:
        inside.set()
        assert go.wait(20)
        return "done"

    ax = opened(tmp_path)
    ax.register(patient, name="patient", policy={"effect": "unsafe"})
    calling = None
    if door == "submit":
        ax.submit("patient", request_id="r")
    else:
        calling = Aside(lambda: ax.call("patient", request_id="r"))
        assert inside.wait(20)
    threading.Timer(0.2, go.set).start()
    ax.close(drain=20)
    if calling is not None:
        assert calling.result() == "done"
    with opened(tmp_path) as after:
        task = after.find_request("r")
        assert task is not None
        assert (task.state, task.result) == ("SUCCESS", "done")


def test_what_was_submitted_a_moment_ago_is_waited_for_too(tmp_path: Path) -> None:
    """Its thread may not have come to run at all when the closing begins."""
    ended: list[int] = []

    def slow() -> None:
        time.sleep(0.1)
        ended.append(1)

    ax = opened(tmp_path)
    ax.register(slow, name="slow", policy={"effect": "unsafe"})
    ax.call("tick")
    kept = sys.getswitchinterval()
    sys.setswitchinterval(1.0)  # this thread goes on until it waits for something
    try:
        ax.submit("slow", request_id="r")
        ax.close(drain=20)
        assert ended == [1]
    finally:
        sys.setswitchinterval(kept)
    with opened(tmp_path) as after:
        task = after.find_request("r")
        assert task is not None
        assert task.state == "SUCCESS"


def test_what_does_not_end_in_time_goes_on_and_is_still_recorded(tmp_path: Path) -> None:
    """Its thread cannot be stopped; as long as the process lives, its end finds its way into the record."""
    inside, go = threading.Event(), threading.Event()

    def patient() -> str:
        inside.set()
        assert go.wait(20)
        return "done"

    ax = opened(tmp_path)
    ax.register(patient, name="patient", policy={"effect": "unsafe"})
    ax.submit("patient", request_id="r")
    assert inside.wait(20)
    began = time.monotonic()
    ax.close(drain=0.1)
    assert time.monotonic() - began < 5
    go.set()
    with opened(tmp_path) as after:

        def state() -> str:
            task = after.find_request("r")
            assert task is not None
            return task.state

        assert until(lambda: state() == "SUCCESS"), state()


def test_the_interpreter_ends_although_a_tool_hangs(tmp_path: Path) -> None:
    """With and without closing, a sync and an async one: the process leaves at once, and the record says RUNNING."""
    for closing in ("ax.close(drain=0.1)", "pass"):
        out = script.run(
            f"""
            import asyncio, sys, threading, time
            from ax_core import AX, AXError
            ax = AX(f"sqlite:///{{sys.argv[1]}}/{len(closing)}.db")
            hangs, seen = threading.Event(), threading.Semaphore(0)
            def hang():
                seen.release()
                hangs.wait()
            async def hang_soon():
                seen.release()
                hangs.wait()
            ax.register(hang, name="hang", policy={{"effect": "unsafe", "timeout": 0.2}})
            ax.register(hang_soon, name="hang_soon", policy={{"effect": "unsafe"}})
            ax.submit("hang_soon")
            seen.acquire()
            try:
                ax.call("hang")
            except AXError as error:
                print(error.code)
            {closing}
            """,
            tmp_path,
            tmp_path,
            seconds=30,
        )
        assert out == "outcome_unknown"
