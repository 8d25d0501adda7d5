"""A sync call on an event loop's thread: it blocks the loop as a bare one does, and what AX adds is not seen."""

import asyncio
import signal
import threading
import time
from typing import Any

import pytest
from blockbuster import BlockingError, blockbuster_ctx
from langchain_core.tools import tool

from ax_adapters.langchain import wrap_tool
from ax_core import AX, NotApplied, OutcomeUnknown, State
from support.driving import Wrap


@tool
def where() -> int:
    """The thread it runs on."""
    return threading.get_ident()


def on_a_loop(call: Any) -> Any:
    """``call()`` inside a running loop, while blockbuster watches."""

    async def main() -> Any:
        with blockbuster_ctx():
            return call()

    return asyncio.run(main())


def test_it_is_no_blocking_call(wrap: Wrap) -> None:
    """From the very first, with a timeout too, and when it fails."""
    made = wrap(where)
    assert on_a_loop(lambda: [type(made.invoke({})), type(made.invoke({}))]) == [int, int]

    @tool
    def failing(a: int) -> int:
        """Fails."""
        raise NotApplied("no")

    failed = wrap(failing)
    with pytest.raises(NotApplied):
        on_a_loop(lambda: failed.invoke({"a": 1}))


def test_the_watch_is_a_watch() -> None:
    """Blockbuster would tell of a call that blocks."""
    with pytest.raises(BlockingError):
        on_a_loop(lambda: time.sleep(0.01))


def test_the_body_runs_on_the_callers_thread(ax: AX) -> None:
    """A tool that starts something on the running loop still can."""
    made = wrap_tool(where, ax)
    assert on_a_loop(lambda: made.invoke({})) == threading.get_ident()

    @tool
    def starts() -> bool:
        """Uses the loop it is called on."""
        return asyncio.get_running_loop().call_soon(lambda: None) is not None

    assert on_a_loop(lambda: wrap_tool(starts, ax).invoke({})) is True


def test_a_second_caller_attaches(ax: AX) -> None:
    """It waits for the same result, on a thread that runs a loop as anywhere else."""
    inside, go, ran = threading.Event(), threading.Event(), []

    @tool
    def slow(a: int) -> int:
        """Waits."""
        ran.append(a)
        inside.set()
        go.wait(20)
        return a

    made = wrap_tool(slow, ax)

    def call() -> Any:
        with ax.override(request_id="r"):
            return made.invoke({"a": 1})

    first = threading.Thread(target=call)
    first.start()
    assert inside.wait(20)
    threading.Timer(0.2, go.set).start()
    assert on_a_loop(call) == 1
    first.join(20)
    assert ran == [1]


def test_ctrl_c_in_the_body_is_on_record(ax: AX) -> None:
    """Control comes back, and the task says that nobody knows whether it acted."""

    @tool
    def stuck(a: int) -> int:
        """Is interrupted."""
        signal.raise_signal(signal.SIGINT)
        time.sleep(20)
        return a

    async def main() -> None:
        with ax.override(request_id="r"):
            wrap_tool(stuck, ax, policy="unsafe").invoke({"a": 1})

    loop = asyncio.new_event_loop()
    with pytest.raises(KeyboardInterrupt):  # not asyncio.run, which takes the signal for itself
        loop.run_until_complete(main())
    loop.close()
    task = ax.find_request("r")
    assert task is not None and (task.state, task.reason) == (State.QUARANTINE, "outcome_unknown")
    with ax.override(request_id="r"), pytest.raises(OutcomeUnknown):
        wrap_tool(stuck, ax, policy="unsafe", on_refusal="raise").invoke({"a": 1})
