"""Coroutines that defeat a polite timeout: one swallows its cancellation, one blocks the whole loop."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from ax_core import AX, AXError, OutcomeUnknown, State, StillRunning, TaskTimeout
from support.alerts import Alerts

TIMEOUT = 0.4


def by_then(true: Callable[[], bool], seconds: float = 20.0) -> bool:
    """Looks until it is true, or the time is over; for what happens on the far side of a blocked loop."""
    give_up = time.monotonic() + seconds
    while not true():
        if time.monotonic() > give_up:
            return False
        time.sleep(0.02)
    return True


class Stubborn:
    """Catches every cancellation and goes on until it is let go."""

    def __init__(self) -> None:
        self.door, self.caught, self.entered = threading.Event(), 0, 0

    async def __call__(self) -> str:
        self.entered += 1
        while not self.door.is_set():
            try:
                await asyncio.sleep(0.02)
            except asyncio.CancelledError:
                self.caught += 1
        return "after all"


@pytest.mark.parametrize("door", ["sync", "async"])
@pytest.mark.parametrize("effect", ["read", "idempotent", "undeclared", "unsafe"])
async def test_one_that_swallows_its_cancellation_is_given_up_and_its_late_end_settles(
    ax: AX, alerts: Alerts, caplog: pytest.LogCaptureFixture, effect: str, door: str
) -> None:
    stubborn = Stubborn()
    ax.register(stubborn, name="stubborn", policy={"effect": effect, "timeout": TIMEOUT})
    caplog.set_level(logging.WARNING, "ax")
    in_doubt = effect in ("undeclared", "unsafe")
    ratios = []
    for tries in range(3):
        began = time.monotonic()
        with pytest.raises(OutcomeUnknown if in_doubt else TaskTimeout):
            call = ax.call if door == "sync" else ax.acall
            answer = call("stubborn", request_id=str(tries))
            _ = await answer if door == "async" else answer
        ratios.append((time.monotonic() - began) / TIMEOUT)
    assert min(ratios) < 1.35, ratios
    assert (stubborn.caught, stubborn.entered) == (3, 3)
    assert "does not end when cancelled" in caplog.text
    stubborn.door.set()
    for _ in range(3):
        await asyncio.to_thread(alerts.wait_for, "late")
    task = ax.find_request("0")
    assert task is not None
    assert (task.history[0].outcome, task.history[0].late_outcome) == ("timeout", "returned")
    assert task.state == (State.SUCCESS if in_doubt else State.TIMEOUT)


async def test_a_cancellation_by_the_host_on_top_of_a_timeout_loses_nothing(ax: AX) -> None:
    """The host cancels its call in the very moment in which a stubborn tool is being given up."""
    stubborn = Stubborn()
    # Long enough for a busy machine to enter the body in.
    ax.register(stubborn, name="stubborn", policy={"effect": "unsafe", "timeout": 4 * TIMEOUT})
    call = asyncio.create_task(ax.acall("stubborn", request_id="r"))
    while not stubborn.caught:  # the timeout was passed on, and is swallowed now
        assert not call.done()
        await asyncio.sleep(0.005)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    task = await asyncio.to_thread(ax.find_request, "r")
    assert task is not None
    assert await asyncio.to_thread(by_then, lambda: ax.get(task.id).reason == "outcome_unknown")
    stubborn.door.set()
    assert await asyncio.to_thread(by_then, lambda: ax.get(task.id).state == State.SUCCESS)


def test_a_blocked_loop_does_not_stop_the_supervision_of_the_other_session_in_it(tmp_path: Path) -> None:
    """One coroutine calls time.sleep; the other's lease is renewed, its session kept, its timeout put on record."""
    url = f"sqlite:///{tmp_path}/ax.db"
    released, inside = threading.Event(), list[int]()
    with AX(url, lease=1.5, heartbeat=0.4) as ax, AX(url) as elsewhere:

        async def rude() -> None:
            released.wait(60)

        async def patient(n: int) -> str:
            inside.append(n)
            while not released.is_set():
                await asyncio.sleep(0.02)
            return "done"

        ax.register(rude, policy={"effect": "undeclared", "timeout": TIMEOUT})
        ax.register(patient, policy={"effect": "undeclared"})
        ax.register(patient, name="limited", policy={"effect": "undeclared", "timeout": TIMEOUT})

        async def session(name: str, tool: str, n: int) -> object:
            async with ax.run(session=name):
                return await ax.acall(tool, {"n": n}, request_id=tool)

        async def both() -> list[object]:
            sessions = [asyncio.create_task(session(tool, tool, 1)) for tool in ("patient", "limited")]
            while len(inside) < 2:
                await asyncio.sleep(0.005)
            return await asyncio.gather(
                *sessions, ax.acall("rude", request_id="rude"), return_exceptions=True
            )

        results: list[list[object]] = []
        loop = threading.Thread(target=lambda: results.append(asyncio.run(both())))
        loop.start()

        def state(request: str) -> tuple[str, str | None]:
            task = elsewhere.find_request(request)
            return (task.state, task.reason) if task else ("", None)

        try:
            # Its loop cannot say so, but its time is over; both are told from outside.
            assert by_then(lambda: state("rude") == ("QUARANTINE", "outcome_unknown"))
            assert by_then(lambda: state("limited") == ("QUARANTINE", "outcome_unknown"))
            # The third has no limit and is alive: well beyond its lease it is still its own, as is its session.
            time.sleep(2.0)
            assert state("patient") == ("RUNNING", None)
            with pytest.raises(AXError, match="busy"), elsewhere.run(session="patient"):
                pass
        finally:
            released.set()
            loop.join(30)
        assert by_then(lambda: state("rude")[0] == "SUCCESS")
        assert by_then(lambda: state("limited")[0] == "SUCCESS")
        assert results[0][0] == "done"


def test_a_sync_caller_of_a_coroutine_that_blocks_its_loop_is_free_on_time(ax: AX, alerts: Alerts) -> None:
    """And so is the next one: it is not put on the loop that is blocked."""
    door = threading.Event()

    async def rude() -> str:
        door.wait(60)
        return "after all"

    async def quick() -> str:
        return "quick"

    ax.register(rude, policy={"effect": "undeclared", "timeout": TIMEOUT})
    ax.register(quick, policy={"effect": "undeclared", "timeout": 10})
    try:
        began = time.monotonic()
        with pytest.raises((OutcomeUnknown, StillRunning)):
            ax.call("rude", request_id="r")
        assert time.monotonic() - began < 5
        assert ax.call("quick") == "quick"
    finally:
        door.set()
    assert alerts.wait_for("late").state == State.SUCCESS
    task = ax.find_request("r")
    assert task is not None
    assert task.result == "after all"


@pytest.mark.parametrize(("effect", "reason"), [("idempotent", "interrupted"), ("unsafe", "outcome_unknown")])
def test_a_loop_that_is_closed_under_a_call_leaves_nothing_running_for_ever(
    tmp_path: Path, effect: str, reason: str
) -> None:
    with AX(f"sqlite:///{tmp_path}/ax.db", lease=30, heartbeat=0.2) as ax:
        stubborn = Stubborn()
        ax.register(stubborn, name="stubborn", policy={"effect": effect})

        async def start() -> None:
            call = asyncio.ensure_future(ax.acall("stubborn", request_id="r"))
            while not stubborn.entered:
                await asyncio.sleep(0.005)
            left.append(call)

        left: list[object] = []
        loop = asyncio.new_event_loop()
        loop.run_until_complete(start())
        loop.close()
        task = ax.find_request("r")
        assert task is not None
        assert by_then(lambda: ax.get(task.id).reason == reason)
