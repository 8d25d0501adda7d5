"""Submitting and waiting: recorded at once, found by id, and waited for without a second run."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from ax_core import (
    AX,
    AXError,
    ConfirmationPending,
    Effect,
    InvalidArguments,
    State,
    StillRunning,
    TaskHandle,
    ToolFailed,
    UnknownTask,
    UnknownTool,
)
from support.aside import Aside, outcome, together
from support.fresh import fresh
from support.probe import Held, Probe


def test_a_submission_returns_at_once_with_a_handle_that_is_the_tasks_id(ax: AX) -> None:
    held = Held("paid")
    Probe(held).tool(ax)
    handle = ax.submit(tool_name="pay", payload={"order": "7"})
    assert isinstance(handle, str)
    assert isinstance(handle, TaskHandle)
    assert (handle.state, handle.replayed, handle.merged_into) == (State.RUNNING, False, None)
    held.wait_entered()
    assert ax.get(handle).payload["order"] == "7"
    held.go.set()
    assert ax.wait_for_result(handle, timeout=10) == "paid"


def test_only_the_wait_runs_out_and_the_task_goes_on(ax: AX) -> None:
    held = Held("paid")
    probe = Probe(held)
    probe.tool(ax)
    handle = ax.submit("pay")
    held.wait_entered()
    with pytest.raises(StillRunning) as still:
        ax.wait_for_result(handle, timeout=0.01)
    assert isinstance(still.value, TimeoutError)
    assert (still.value.task_id, still.value.safe_to_repeat) == (handle, True)
    held.go.set()
    assert (ax.wait_for_result(handle, timeout=10), probe.count) == ("paid", 1)


def test_a_result_is_found_by_its_id_in_another_process(tmp_path: Path) -> None:
    path = tmp_path / "ax.db"
    with fresh(path=path) as ax:
        Probe({"refund": 17}).tool(ax)
        handle = ax.submit("pay")
        ax.wait_for_result(handle, timeout=10)
    with fresh(path=path) as ax:  # no tool is registered here
        assert ax.wait_for_result(str(handle)) == {"refund": 17}


def test_many_may_wait_for_one_task(ax: AX) -> None:
    held = Held("paid")
    probe = Probe(held)
    probe.tool(ax)
    handle = ax.submit("pay")
    waits = [Aside(lambda: ax.wait_for_result(handle, timeout=20)) for _ in range(5)]
    held.wait_entered()
    held.go.set()
    assert [w.result() for w in waits] == ["paid"] * 5
    assert probe.count == 1


def test_a_submission_that_is_known_says_so(ax: AX) -> None:
    Probe().tool(ax, effect=Effect.UNSAFE)
    first = ax.submit("pay", request_id="r")
    ax.wait_for_result(first, timeout=10)
    again = ax.submit("pay", request_id="r")
    assert (again, again.replayed, again.merged_into, again.state) == (first, True, None, State.SUCCESS)
    with ax.run():
        a, b = ax.submit("pay", key="k"), ax.submit("pay", key="k")
    assert (b.merged_into, b.replayed) == (a, False)


def test_a_failed_submission_raises_for_whoever_asks_for_its_result(ax: AX) -> None:
    Probe(LookupError("no such order")).tool(ax)
    handle = ax.submit("pay")
    with pytest.raises(ToolFailed, match="no such order") as failed:
        ax.wait_for_result(handle, timeout=10)
    assert isinstance(failed.value.__cause__, LookupError)


def test_what_can_be_refused_at_once_is(ax: AX) -> None:
    Probe().tool(ax)
    with pytest.raises(UnknownTool, match="did you mean 'pay'"):
        ax.submit("pya")
    with pytest.raises(InvalidArguments):
        ax.submit("pay", {"nonsense": 1})
    with pytest.raises(UnknownTask):
        ax.wait_for_result("no-such-task")


def test_a_submission_that_needs_a_person_has_a_handle_like_any_other(ax: AX) -> None:
    Probe().tool(ax, confirm=True)
    handle = ax.submit("pay")
    assert (handle.state, ax.inbox()[0].id) == (State.CONFIRMING, handle)
    with pytest.raises(ConfirmationPending):
        ax.wait_for_result(handle)


def test_whoever_waits_for_a_queued_task_runs_it_if_its_tool_is_here(tmp_path: Path) -> None:
    path = tmp_path / "ax.db"
    with fresh(path=path) as ax:
        Probe().tool(ax)
        ax.pause("pay", by="ops")
        handle = ax.submit("pay")
        assert handle.state is State.QUEUED
        assert isinstance(outcome(lambda: ax.wait_for_result(handle, timeout=0)), StillRunning)
    with fresh(path=path) as ax:
        probe = Probe("paid")
        ax.resume("pay", by="ops")
        with pytest.raises(StillRunning):
            ax.wait_for_result(handle, timeout=0)
        probe.tool(ax)
        assert together([lambda: ax.wait_for_result(handle, timeout=20)] * 4) == ["paid"] * 4
        assert probe.count == 1


def test_constructing_ax_and_asking_it_things_runs_no_stored_task(tmp_path: Path) -> None:
    path = tmp_path / "ax.db"
    with fresh(path=path) as ax:
        Probe(RuntimeError("no")).tool(ax)
        outcome(lambda: ax.call("pay", request_id="r"))
        task_id = ax.tasks().tasks[0].id
        ax.requeue(task_id, by="ops")
    with fresh(path=path, watched=True) as ax:
        probe = Probe()
        probe.tool(ax)
        assert (ax.get(task_id).state, len(ax.tasks().tasks), ax.inbox()) == (State.QUEUED, 1, [])
        assert not ax.requeue(task_id, by="ops")
        assert (ax.get(task_id).state, probe.count) == (State.QUEUED, 0)


async def test_the_async_forms_are_the_same(ax: AX) -> None:
    held = Held("paid")
    probe = Probe(held)
    probe.tool(ax)
    handle = await ax.asubmit("pay", request_id="r")
    await asyncio.to_thread(held.wait_entered)
    with pytest.raises(StillRunning):
        await ax.await_result(handle, timeout=0.01)
    held.go.set()
    assert await ax.await_result(handle, timeout=10) == "paid"
    assert (await ax.aget(handle)).state is State.SUCCESS
    again = await ax.asubmit("pay", request_id="r")
    assert (again.replayed, probe.count) == (True, 1)
    with pytest.raises(UnknownTask):
        await ax.await_result("no-such-task")


async def test_an_async_tool_may_be_submitted_and_runs_beside_its_caller(ax: AX) -> None:
    async def body() -> str:
        await asyncio.sleep(0)
        return "paid"

    Probe().async_tool(ax, body)
    handles = [await ax.asubmit("pay", {"amount": n}) for n in range(8)]
    assert [await ax.await_result(h, timeout=10) for h in handles] == ["paid"] * 8


def test_a_handle_of_another_tenant_is_unknown(ax: AX) -> None:
    Probe().tool(ax)
    handle = ax.submit("pay")
    with pytest.raises(AXError) as refused:
        ax.for_namespace("acme").wait_for_result(handle)
    assert refused.value.code == "unknown_task"
    assert ax.wait_for_result(handle, timeout=10) == "done"
