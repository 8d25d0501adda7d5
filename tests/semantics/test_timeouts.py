"""Timeouts: the caller is free in time, nothing overlaps what still runs, and the truth about it comes later."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from ax_core import AX, Effect, OutcomeUnknown, PolicyError, State, StillRunning, TaskTimeout, current
from support.aside import Aside, outcome
from support.ears import late
from support.expiry import LIMIT, expiring
from support.fresh import fresh, tick
from support.probe import Held, Probe
from support.skew import Skew


def only(ax: AX) -> Any:
    (task,) = ax.tasks().tasks
    return ax.get(task.id)


@pytest.mark.parametrize("effect", [Effect.READ, Effect.UNSAFE])
def test_the_caller_is_free_in_time_although_the_body_hangs(ax: AX, effect: Effect) -> None:
    held = Held()
    Probe(held).tool(ax, effect=effect, timeout=0.3)
    began = time.monotonic()
    with pytest.raises((TaskTimeout, OutcomeUnknown)):
        ax.call("pay")
    assert 0.29 < time.monotonic() - began < 0.3 * 1.3 + 0.6  # (the last is for a busy machine)
    held.go.set()


def test_a_tool_that_ends_in_time_is_not_touched_by_its_limit(ax: AX) -> None:
    Probe(lambda ctx: 0 < ctx.remaining() <= LIMIT).tool(ax, timeout=LIMIT)
    assert ax.call("pay") is True
    assert only(ax).state is State.SUCCESS


def test_a_hung_body_does_not_keep_the_interpreter_from_exiting(tmp_path: Path) -> None:
    code = f"""
import threading
from ax_core import AX, TaskTimeout
ax = AX("sqlite:///{tmp_path}/ax.db")
ax.register(lambda: threading.Event().wait(), name="hang", policy={{"effect": "read", "timeout": 0.05}})
try:
    ax.call("hang")
except TaskTimeout:
    print("free", flush=True)
"""
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, timeout=20)
    assert (done.returncode, done.stdout.strip()) == (0, "free"), done.stderr


def test_no_retry_starts_while_the_timed_out_body_is_alive_and_its_end_is_recorded(ax: AX) -> None:
    """A sync tool that sleeps on and then sends: one caller freed, one body at a time, and the late outcome kept."""
    alive: list[int] = []
    most: list[int] = []

    def body(ctx: Any) -> Any:
        alive.append(1)
        most.append(len(alive))
        return held if len(most) == 1 else "second"

    held = Held("sent")
    probe = Probe(body, body)
    probe.tool(ax, effect=Effect.IDEMPOTENT, retries=1, backoff=0, timeout=LIMIT)
    with expiring(held), pytest.raises(StillRunning):
        ax.call("pay", request_id="r")
    assert (only(ax).state, only(ax).attempts) == (State.RETRY_WAIT, 1)
    ear = late(ax)
    alive.clear()
    held.go.set()
    ear.wait()
    assert only(ax).history[0].late_result == "sent"
    assert ax.call("pay", request_id="r") == "second"
    assert most == [1, 1]


def test_a_server_that_finishes_after_its_client_gave_up_is_asked_once(ax: AX) -> None:
    """The proxy that timed out, cancelled and fired again in a loop: not with an effect that may have happened."""
    held, ear = Held("finished after all"), late(ax)
    probe = Probe(held)
    probe.tool(ax, timeout=LIMIT, retries=5, backoff=0)
    for _ in range(4):
        with expiring(held), pytest.raises(OutcomeUnknown):
            ax.call("pay", request_id="r")
    held.go.set()
    ear.wait()
    assert (ax.call("pay", request_id="r"), probe.count) == ("finished after all", 1)


def test_quick_calls_behind_a_hung_one_go_through_and_do_not_fail_for_it(ax: AX) -> None:
    held = Held()
    probe = Probe(held)
    probe.tool(ax, effect=Effect.READ, timeout=LIMIT)
    with expiring(held), pytest.raises(TaskTimeout):
        ax.call("pay", {"order": "slow"})
    assert [ax.call("pay", {"order": str(n)}) for n in range(3)] == ["done"] * 3
    held.go.set()


def test_calls_that_wait_behind_a_slow_one_on_a_serial_server_are_made_once_and_lose_no_result(
    ax: AX,
) -> None:
    """All four run out of time and are told so; as the server comes to them, each result is put where it belongs."""
    calls = {name: Held() for name in ("slow", "1", "2", "3")}
    serving = threading.Lock()
    seen: list[str] = []

    @ax.tool(effect=Effect.UNSAFE, timeout=LIMIT, retries=3, backoff=0)
    def ask(what: str) -> str:
        if what == "slow":
            serving.acquire()
        calls[what].entered.set()
        if what == "slow":
            assert calls[what].go.wait(30)
        else:
            serving.acquire()
        seen.append(what)
        serving.release()
        return f"found {what}"

    for name, held in calls.items():
        with expiring(held), pytest.raises(OutcomeUnknown):
            ax.call("ask", {"what": name}, request_id=name)
    assert seen == []
    calls["slow"].go.set()
    give_up = time.monotonic() + 20
    while any(task.state is not State.SUCCESS for task in ax.tasks().tasks):
        assert time.monotonic() < give_up, "a result was lost"
        time.sleep(0.01)
    answers = [ax.call("ask", {"what": name}, request_id=name) for name in calls]
    assert answers == [f"found {name}" for name in calls]
    assert sorted(seen) == sorted(calls)


def test_a_call_may_shorten_its_tools_limit_and_not_lengthen_it(ax: AX) -> None:
    left: list[float] = []
    Probe(*[lambda ctx: left.append(ctx.remaining())] * 3).tool(ax, timeout=20)
    for limit in (None, 5, 500):
        ax.call("pay", timeout=limit)
    with ax.override(timeout=3):
        Probe(lambda ctx: left.append(ctx.remaining())).tool(ax, "other", timeout=20)
        ax.call("other")
    assert [round(x, 0) for x in left] == [20, 5, 20, 3]


@pytest.mark.parametrize("bad", [0, -1, float("nan"), "30", True])
def test_a_limit_that_is_none_is_refused_at_registration(ax: AX, bad: Any) -> None:
    with pytest.raises(PolicyError, match="timeout"):
        ax.tool(timeout=bad)(lambda order: order)


def test_a_tool_of_ax_has_a_limit_and_a_registered_one_has_none(ax: AX) -> None:
    assert ax.tool(name="a")(lambda order: order).policy.timeout == 30
    assert ax.register(lambda order: order, name="b").policy.timeout is None


def test_a_late_attempts_deadline_counts_from_its_own_start(ax: AX, clock: Skew) -> None:
    """Failed, and submitted again an hour later under the same request: it has its whole time again."""
    left: list[float] = []
    Probe(RuntimeError("no"), lambda ctx: left.append(ctx.remaining())).tool(ax, timeout=20)
    outcome(lambda: ax.call("pay", request_id="r"))
    clock.ahead(3600)
    ax.call("pay", request_id="r")
    assert 15 < left[0] <= 20


def test_waiting_on_a_task_that_waits_for_a_person_ends_in_time_and_loses_nothing(ax: AX) -> None:
    """A tool that waits for another one, which nobody approves: it says so instead of freezing its parent."""
    Probe("approved").tool(ax, "asked", confirm=True)

    @ax.tool
    def parent() -> str:
        handle = ax.submit("asked", request_id="child")
        answer = outcome(lambda: ax.wait_for_result(handle, timeout=0.05))
        return type(answer).__name__

    assert parent() == "ConfirmationPending"
    child = ax.tasks(tool="asked").tasks[0]
    assert (child.state, child.parent_id) == (State.CONFIRMING, ax.tasks(tool="parent").tasks[0].id)
    ax.confirm(child.id, by="ann")
    assert ax.wait_for_result(child.id, timeout=10) == "approved"


# -- async tools ---------------------------------------------------------------------------------------------


async def test_a_coroutine_that_swallows_its_cancellation_is_abandoned_and_reported(
    ax: AX, caplog: pytest.LogCaptureFixture
) -> None:
    go = asyncio.Event()

    async def body() -> str:
        while not go.is_set():
            try:
                await go.wait()
            except asyncio.CancelledError:
                continue
        return "late"

    Probe().async_tool(ax, body, timeout=0.1)
    with pytest.raises(OutcomeUnknown):
        await asyncio.wait_for(ax.acall("pay", request_id="r"), 5)
    assert "does not end when cancelled" in caplog.text
    assert not only(ax).history[0].closed
    ear = late(ax)
    go.set()
    await asyncio.to_thread(ear.wait)
    assert await ax.acall("pay", request_id="r") == "late"


async def test_a_coroutine_that_ends_when_cancelled_is_closed_at_once_but_may_have_acted(ax: AX) -> None:
    stopped: list[bool] = []

    async def body() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            stopped.append(True)

    for effect, state in ((Effect.READ, State.TIMEOUT), (Effect.UNSAFE, State.QUARANTINE)):
        Probe().async_tool(ax, body, name=effect.value, effect=effect, timeout=0.05)
        with pytest.raises((TaskTimeout, OutcomeUnknown)):
            await ax.acall(effect.value)
        task = await ax.aget((await ax.atasks(tool=effect.value)).tasks[0].id)
        assert (task.state, task.history[0].closed) == (state, True)
    assert stopped == [True, True]


async def test_a_coroutine_that_finishes_while_it_is_being_cancelled_has_succeeded(ax: AX) -> None:
    async def body() -> str:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            return "just made it"
        return "never"

    Probe().async_tool(ax, body, timeout=0.05)
    assert await ax.acall("pay") == "just made it"


def test_a_body_that_blocks_its_own_loop_is_put_on_record_by_the_watch(ax: AX, clock: Skew) -> None:
    """Its loop cannot even time it out; supervision is not on that loop, so another session still learns the truth."""
    blocked, go = threading.Event(), threading.Event()

    async def body() -> str:
        blocked.set()
        go.wait(20)
        return "late"

    Probe().async_tool(ax, body, timeout=5)
    other = Probe()
    other.tool(ax, "other")
    call = Aside(lambda: asyncio.run(ax.acall("pay", request_id="r")))
    assert blocked.wait(10)
    assert ax.call("other") == "done"
    clock.ahead(7)
    tick(ax)
    task = ax.get(ax.tasks(tool="pay").tasks[0].id)
    assert (task.state, task.reason, task.history[0].closed) == (State.QUARANTINE, "outcome_unknown", False)
    ear = late(ax)
    go.set()
    ear.wait()
    assert call.result() == "late"
    assert ax.get(task.id).state is State.SUCCESS


async def test_a_sync_tool_never_blocks_the_loop_of_its_caller(ax: AX) -> None:
    held = Held("paid")
    Probe(held).tool(ax)
    call = asyncio.create_task(ax.acall("pay"))
    await asyncio.to_thread(held.wait_entered)
    ticks = 0
    for _ in range(5):
        await asyncio.sleep(0)
        ticks += 1
    assert ticks == 5
    assert not call.done()
    held.go.set()
    assert await call == "paid"


def test_an_async_tool_called_by_sync_code_keeps_its_limit(ax: AX) -> None:
    async def body() -> None:
        await asyncio.Event().wait()

    Probe().async_tool(ax, body, effect=Effect.READ, timeout=0.05)
    with pytest.raises(TaskTimeout):
        ax.call("pay")


def test_the_context_carries_the_deadline_to_whatever_the_tool_calls(ax: AX) -> None:
    @ax.tool(timeout=20)
    def outer() -> float:
        ctx = current()
        assert ctx.deadline is not None
        return ctx.deadline - time.monotonic()

    assert 15 < outer() <= 20


def test_an_overdue_call_without_a_limit_is_warned_of_and_goes_on(clock: Skew) -> None:
    held = Held("at last")
    with fresh(clock) as ax:
        Probe(held).tool(ax)
        call = Aside(lambda: ax.call("pay"))
        held.wait_entered()
        clock.ahead(31)
        tick(ax)
        tick(ax)
        assert (only(ax).state, only(ax).overdue) == (State.RUNNING, True)
        assert [e.verb for e in ax.audit(only(ax).id)] == ["claim", "overdue"]
        held.go.set()
        assert call.result() == "at last"
