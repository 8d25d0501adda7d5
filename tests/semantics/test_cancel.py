"""Cancel and interruption: what waits ends at once, what runs is asked, and nobody is told more than is true."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any

import pytest

from ax_core import AX, Effect, OutcomeUnknown, State, TaskCancelled, ToolFailed, current
from support.aside import Aside, outcome
from support.ears import Ear, late
from support.fresh import fresh, tick
from support.probe import Held, Pause, Probe, paused
from support.skew import Skew


def only(ax: AX) -> Any:
    (task,) = ax.tasks().tasks
    return ax.get(task.id)


# -- what does not run ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("state", ["QUEUED", "CONFIRMING", "RETRY_WAIT"])
def test_what_waits_is_cancelled_at_once_and_never_runs(ax: AX, clock: Skew, state: str) -> None:
    """A retry that was due in an hour, a card on somebody's desk, a queue: nothing of it fires afterwards."""
    probe = Probe(RuntimeError("no"))
    probe.tool(ax, effect=Effect.KEYED, retries=3, backoff=3600, confirm=state == "CONFIRMING")
    retrying = Ear(ax, "retrying")
    if state == "QUEUED":
        ax.pause("pay", by="ops")
    handle = ax.submit("pay", request_id="r")
    if state == "RETRY_WAIT":
        retrying.wait()
    assert ax.get(handle).state == state
    before = probe.count
    verdict = ax.cancel(handle, by="ann")
    assert (verdict.done, verdict.state) == (True, State.CANCELLED)
    clock.ahead(3 * 3600)
    ax.resume("pay", by="ops")
    with ax.serve() as serving:
        assert serving.round() == 0
    assert isinstance(outcome(lambda: ax.call("pay", request_id="r")), TaskCancelled)
    assert (probe.count, only(ax).reason) == (before, "by_user")


def test_what_a_framework_paused_is_cancelled_at_once_and_never_entered_again(ax: AX) -> None:
    probe, call = paused(ax)
    assert only(ax).state is State.WAITING
    verdict = ax.cancel(only(ax).id, by="ann")
    assert (verdict.done, verdict.state) == (True, State.CANCELLED)
    with pytest.raises(TaskCancelled):
        ax.dispatch(call, passes=(Pause,))
    assert (probe.count, only(ax).state) == (1, State.CANCELLED)


def test_who_waits_for_a_retry_is_told_at_once_that_it_was_cancelled(ax: AX) -> None:
    probe = Probe(RuntimeError("no"))
    probe.tool(ax, effect=Effect.KEYED, retries=1, backoff=3600)
    retrying = Ear(ax, "retrying")
    call = Aside(lambda: ax.call("pay"))
    retrying.wait()
    ax.cancel(only(ax).id, by="ann")
    with pytest.raises(TaskCancelled):
        call.result(5)
    assert probe.count == 1


# -- what runs -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("effect", [Effect.READ, Effect.UNSAFE])
def test_a_tool_that_looks_stops_by_itself(ax: AX, effect: Effect) -> None:
    held = Held(lambda ctx: ctx.raise_if_cancelled())
    Probe(held).tool(ax, effect=effect)
    call = Aside(lambda: ax.call("pay"))
    held.wait_entered()
    verdict = ax.cancel(only(ax).id, by="ann")
    assert (verdict.done, verdict.state) == (True, State.RUNNING)
    assert "asked to stop" in verdict.message
    held.go.set()
    with pytest.raises(TaskCancelled) as told:
        call.result()
    assert (only(ax).state, only(ax).maybe_applied) == (State.CANCELLED, effect is Effect.UNSAFE)
    assert ("partly done" in told.value.for_model) is (effect is Effect.UNSAFE)


def test_a_tool_that_never_looks_ends_as_what_it_did(ax: AX) -> None:
    held = Held("paid")
    probe = Probe(held)
    probe.tool(ax, effect=Effect.UNSAFE)
    call = Aside(lambda: ax.call("pay"))
    held.wait_entered()
    assert ax.cancel(only(ax).id, by="ann")
    assert (only(ax).state, only(ax).cancel_requested) == (State.RUNNING, True)
    held.go.set()
    assert (call.result(), only(ax).state) == ("paid", State.SUCCESS)


def test_a_cancelled_task_gets_no_second_attempt(ax: AX) -> None:
    held = Held(RuntimeError("no"))
    probe = Probe(held)
    probe.tool(ax, effect=Effect.IDEMPOTENT, retries=5, backoff=0)
    call = Aside(lambda: ax.call("pay", request_id="r"))
    held.wait_entered()
    ax.cancel(only(ax).id, by="ann")
    held.go.set()
    with pytest.raises(TaskCancelled):
        call.result()
    assert isinstance(outcome(lambda: ax.call("pay", request_id="r")), TaskCancelled)
    assert probe.count == 1


def test_the_last_gate_refuses_a_cancelled_task_its_effect(ax: AX) -> None:
    effects: list[int] = []

    def act(ctx: Any) -> None:
        ctx.about_to_act()
        effects.append(1)

    held = Held(act)
    Probe(held).tool(ax, effect=Effect.UNSAFE, marks_effect=True)
    call = Aside(lambda: ax.call("pay"))
    held.wait_entered()
    ax.cancel(only(ax).id, by="ann")
    held.go.set()
    with pytest.raises(TaskCancelled):
        call.result()
    assert (effects, only(ax).maybe_applied) == ([], False)


def test_a_cancel_from_another_process_reaches_the_body(tmp_path: Any, clock: Skew) -> None:
    path = tmp_path / "ax.db"
    with fresh(clock, path) as one, fresh(clock, path) as two:
        held = Held(lambda ctx: ctx.cancelled)
        Probe(held).tool(one)
        call = Aside(lambda: one.call("pay"))
        held.wait_entered()
        assert two.cancel(only(two).id, by="ann")
        clock.ahead(1)
        tick(one)
        held.go.set()
        assert call.result() is True


def test_cancel_against_completion_has_one_winner_and_a_truthful_answer(ax: AX) -> None:
    """Three hundred times: one terminal state, and the verdict says what was true when it was given."""
    probe = Probe()
    probe.tool(ax)
    for n in range(300):
        held = Held(lambda ctx: "saw it" if ctx.cancelled else "done")
        probe.then(held)
        handle = ax.submit("pay", request_id=str(n))
        held.wait_entered()
        cancelling = Aside(lambda handle=handle: ax.cancel(handle, by="ann"))
        held.go.set()
        verdict, value = cancelling.result(), ax.wait_for_result(handle, timeout=10)
        task = ax.get(handle)
        assert task.state is State.SUCCESS
        assert task.cancel_requested is verdict.done
        assert verdict.state == (State.RUNNING if verdict.done else State.SUCCESS)
        assert verdict.done or value == "done"
        assert [e.target for e in ax.audit(handle) if e.source is not e.target].count(State.SUCCESS) == 1


# -- async tools ---------------------------------------------------------------------------------------------


async def test_an_async_tool_that_is_cut_off_by_a_cancel_is_in_doubt_where_it_may_have_acted(ax: AX) -> None:
    for effect, state in ((Effect.READ, State.CANCELLED), (Effect.UNSAFE, State.QUARANTINE)):
        inside = asyncio.Event()

        async def body(inside: asyncio.Event = inside) -> None:
            inside.set()
            await asyncio.Event().wait()

        Probe().async_tool(ax, body, name=effect.value, effect=effect)
        call = asyncio.create_task(ax.acall(effect.value))
        await inside.wait()
        task = (await ax.atasks(tool=effect.value)).tasks[0]
        assert await ax.acancel(task.id, by="ann")
        with pytest.raises(TaskCancelled if effect is Effect.READ else OutcomeUnknown):
            await call
        assert (await ax.aget(task.id)).state is state


@pytest.mark.parametrize("effect", [Effect.READ, Effect.KEYED, Effect.UNDECLARED])
async def test_a_host_that_cancels_its_coroutine_interrupts_and_does_not_fail_the_task(
    ax: AX, effect: Effect
) -> None:
    inside, stopped = asyncio.Event(), []

    async def body() -> str:
        inside.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            stopped.append(True)
            raise
        return "never"

    probe = Probe()
    probe.async_tool(ax, body, effect=effect)
    call = asyncio.create_task(ax.acall("pay", request_id="r"))
    await inside.wait()
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    task = only(ax)
    assert stopped == [True]
    if effect is Effect.UNDECLARED:
        assert (task.state, task.reason) == (State.QUARANTINE, "outcome_unknown")
    else:
        assert (task.state, task.reason, task.interruptions) == (State.QUEUED, "interrupted", 1)
    assert task.history[0].closed
    assert task.history[0].outcome == "lost"


async def test_an_interruption_does_not_use_up_the_retries_of_a_healthy_task(ax: AX) -> None:
    """Three deploys during one idempotent task that may be tried twice: it still gets its two tries."""
    gate, rounds = asyncio.Event(), []

    async def body() -> str:
        rounds.append(1)
        if len(rounds) <= 3:
            gate.set()
            await asyncio.Event().wait()
        if len(rounds) == 4:
            raise RuntimeError("down")
        return "done"

    Probe().async_tool(ax, body, effect=Effect.IDEMPOTENT, retries=1, backoff=0)
    for _ in range(3):
        gate.clear()
        call = asyncio.create_task(ax.acall("pay", request_id="r"))
        await gate.wait()
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
    assert await ax.acall("pay", request_id="r") == "done"
    assert (only(ax).interruptions, only(ax).attempts) == (3, 5)


async def test_a_detached_body_finishes_although_its_host_went_away(ax: AX) -> None:
    inside, go = asyncio.Event(), asyncio.Event()

    async def body() -> str:
        inside.set()
        await go.wait()
        return "paid"

    probe = Probe()
    probe.async_tool(ax, body, effect=Effect.UNSAFE, on_cancel="detach")
    call = asyncio.create_task(ax.acall("pay", request_id="r"))
    await inside.wait()
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert only(ax).state is State.RUNNING
    resumed = asyncio.create_task(ax.acall("pay", request_id="r"))
    go.set()
    assert (await resumed, probe.count) == ("paid", 1)


async def test_a_sync_body_of_a_cancelled_host_goes_on_and_whoever_resumes_attaches_to_it(ax: AX) -> None:
    held = Held("paid")
    probe = Probe(held)
    probe.tool(ax, effect=Effect.UNSAFE)
    call = asyncio.create_task(ax.acall("pay", request_id="r"))
    await asyncio.to_thread(held.wait_entered)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    resumed = asyncio.create_task(ax.acall("pay", request_id="r"))
    held.go.set()
    assert (await resumed, probe.count) == ("paid", 1)


async def test_a_host_that_cancels_between_claim_and_body_leaves_nothing_behind(ax: AX) -> None:
    probe = Probe()

    async def body() -> str:
        return "paid"

    probe.async_tool(ax, body, effect=Effect.UNSAFE)
    await ax.acall("pay", request_id="warm")
    for n in range(20):
        call = asyncio.create_task(ax.acall("pay", request_id=str(n)))
        for _ in range(n % 5):
            await asyncio.sleep(0)
        call.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await call
    answers = [await outcome_of(ax.acall("pay", request_id=str(n))) for n in range(20)]
    assert set(answers) <= {"paid", OutcomeUnknown}
    assert len(probe.keys) == probe.count <= 21  # no request has acted twice


async def outcome_of(call: Any) -> Any:
    try:
        return await call
    except OutcomeUnknown:
        return OutcomeUnknown


async def test_a_tool_that_raises_cancellation_itself_has_failed_and_nobody_crashes(ax: AX) -> None:
    async def body() -> str:
        raise asyncio.CancelledError("by the tool itself")

    Probe().async_tool(ax, body)
    with pytest.raises(ToolFailed):
        await ax.acall("pay")
    assert (only(ax).state, only(ax).history[0].closed) == (State.FAILED, True)


def test_a_sync_tool_that_raises_cancellation_itself_has_failed_too(ax: AX) -> None:
    Probe(asyncio.CancelledError()).tool(ax)
    with pytest.raises(ToolFailed):
        ax.call("pay")
    assert only(ax).state is State.FAILED


def test_a_cancelled_tree_reaches_the_call_inside_the_call(ax: AX) -> None:
    held = Held(lambda ctx: ctx.raise_if_cancelled())
    Probe(held).tool(ax, "inner")

    @ax.tool
    def outer() -> Any:
        return ax.call("inner")

    def agent() -> Any:
        with ax.run(key="k"):
            return outer()

    call = Aside(agent)
    held.wait_entered()
    run_id = ax.tasks(tool="inner").tasks[0].run_id
    verdict = ax.cancel(run_id, by="ann")
    assert "2 running" in verdict.message
    held.go.set()
    outcome(call.result)
    assert ax.tasks(tool="inner").tasks[0].state is State.CANCELLED


def test_the_late_end_of_a_cut_off_body_is_kept_as_evidence(ax: AX, clock: Skew) -> None:
    """Cancelled by force, it had acted after all: that is recorded, so that a compensation can see it."""
    held = Held("paid")
    probe = Probe(held)
    probe.tool(ax, effect=Effect.UNSAFE)
    call = Aside(lambda: ax.call("pay"))
    held.wait_entered()
    ax.cancel(only(ax).id, by="ann")
    clock.ahead(31)
    ax._core._watch.beat([])
    assert only(ax).reason == "outcome_unknown"
    ear = late(ax)
    held.go.set()
    assert call.result() == "paid"
    assert ear.wait().detail["outcome"] == "returned"
    assert (only(ax).state, only(ax).history[0].late_result) == (State.SUCCESS, "paid")


def test_the_context_tells_the_body_that_it_was_asked_to_stop(ax: AX) -> None:
    held = Held(lambda ctx: ctx.cancelled)
    Probe(held).tool(ax)
    call = Aside(lambda: ax.call("pay"))
    held.wait_entered()
    ax.cancel(only(ax).id, by="ann")
    held.go.set()
    assert call.result() is True
    assert current().cancelled is False
