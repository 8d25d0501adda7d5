"""A host cancels its coroutine: it is let go at once, and the record tells an interruption, not a failure."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from ax_core import AX, OutcomeUnknown, State, ToolFailed

INTERRUPTED = ("QUEUED", "interrupted", 1)
IN_DOUBT = ("QUARANTINE", "outcome_unknown", 1)


async def by_then(true: Callable[[], bool]) -> bool:
    for _ in range(500):
        if await asyncio.to_thread(true):
            return True
        await asyncio.sleep(0.02)
    return False


def standing(ax: AX, request: str) -> tuple[str, str | None, int]:
    task = ax.find_request(request)
    assert task is not None
    return task.state.value, task.reason, task.interruptions


@pytest.mark.parametrize(
    ("effect", "stands"),
    [("read", INTERRUPTED), ("keyed", INTERRUPTED), ("undeclared", IN_DOUBT), ("unsafe", IN_DOUBT)],
)
async def test_the_host_is_not_kept_and_the_task_is_told_by_its_effect(
    ax: AX, effect: str, stands: tuple[str, str, int]
) -> None:
    inside, cancelled, again = asyncio.Event(), asyncio.Event(), False

    async def waiting() -> str:
        inside.set()
        if again:
            return "done"
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            cancelled.set()
            raise
        return ""

    ax.register(waiting, policy={"effect": effect})
    call = asyncio.create_task(ax.acall("waiting", request_id="r"))
    await inside.wait()
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert cancelled.is_set()
    assert await by_then(lambda: standing(ax, "r") == stands)
    again = True
    if stands is INTERRUPTED:
        assert await ax.acall("waiting", request_id="r") == "done"
    else:
        with pytest.raises(OutcomeUnknown):
            await ax.acall("waiting", request_id="r")


async def test_a_tool_that_is_to_finish_is_shielded_from_its_host(ax: AX) -> None:
    inside, door = asyncio.Event(), asyncio.Event()

    async def patient() -> str:
        inside.set()
        await door.wait()
        return "done"

    ax.register(patient, policy={"effect": "unsafe", "on_cancel": "detach"})
    call = asyncio.create_task(ax.acall("patient", request_id="r"))
    await inside.wait()
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert (await asyncio.to_thread(standing, ax, "r"))[0] == "RUNNING"
    door.set()
    assert await ax.acall("patient", request_id="r") == "done"


async def test_a_tool_that_cancels_itself_has_failed(ax: AX) -> None:
    async def quitter() -> None:
        raise asyncio.CancelledError("enough")

    ax.register(quitter, policy={"effect": "undeclared"})
    with pytest.raises(ToolFailed):
        await ax.acall("quitter", request_id="r")
    assert await asyncio.to_thread(standing, ax, "r") == (State.FAILED.value, None, 0)


def test_a_shielded_tool_whose_loop_ends_is_an_interruption(ax: AX) -> None:
    inside: list[int] = []

    async def patient() -> None:
        inside.append(1)
        await asyncio.sleep(60)

    ax.register(patient, policy={"effect": "unsafe", "on_cancel": "detach"})

    async def main() -> None:
        call = asyncio.create_task(ax.acall("patient", request_id="r"))
        while not inside:
            await asyncio.sleep(0.005)
        call.cancel()

    asyncio.run(main())
    assert asyncio.run(
        by_then(lambda: standing(ax, "r") == IN_DOUBT)
    )  # the watch sees to it: no loop is left to
