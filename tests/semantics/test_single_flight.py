"""One request, many callers: one effect, and everybody gets the same result."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path

import pytest

from ax_core import AX, AXError, Effect, RequestConflict, State, ToolFailed
from support.aside import Aside, outcome, together
from support.fresh import fresh
from support.probe import Held, Probe
from support.skew import Skew


@pytest.mark.parametrize("effect", [Effect.READ, Effect.KEYED, Effect.UNDECLARED, Effect.UNSAFE])
def test_eight_threads_with_one_request_have_one_effect(ax: AX, effect: Effect) -> None:
    probe = Probe(lambda ctx: ctx.task_id)
    probe.tool(ax, effect=effect)
    results = together([lambda: ax.call("pay", request_id="r")] * 8)
    assert (set(results), probe.count) == ({ax.tasks().tasks[0].id}, 1)


async def test_sixty_four_coroutines_with_one_request_have_one_effect(ax: AX) -> None:
    probe = Probe()

    async def body() -> str:
        await asyncio.sleep(0)
        return "paid"

    probe.async_tool(ax, body, effect=Effect.UNSAFE)
    results = await asyncio.gather(*[ax.acall("pay", request_id="r") for _ in range(64)])
    assert (set(results), probe.count) == ({"paid"}, 1)


async def test_coroutines_that_call_a_sync_tool_share_its_flight_too(ax: AX) -> None:
    held = Held("paid")
    probe = Probe(held)
    probe.tool(ax, effect=Effect.UNSAFE)
    calls = [asyncio.create_task(ax.acall("pay", request_id="r")) for _ in range(16)]
    await asyncio.to_thread(held.wait_entered)
    held.go.set()
    assert (set(await asyncio.gather(*calls)), probe.count) == ({"paid"}, 1)


def test_two_processes_share_a_flight_through_the_file(tmp_path: Path, clock: Skew) -> None:
    """Two AX on one file know of each other only what is stored, as two processes do."""
    held, never = Held("paid"), Probe()
    first = Probe(held)
    with fresh(clock, tmp_path / "ax.db") as one, fresh(clock, tmp_path / "ax.db") as two:
        first.tool(one, effect=Effect.UNSAFE)
        never.tool(two, effect=Effect.UNSAFE)
        call = Aside(lambda: one.call("pay", request_id="r"))
        held.wait_entered()
        attached = Aside(lambda: two.call("pay", request_id="r"))
        held.go.set()
        assert call.result() == attached.result() == "paid"
    assert (first.count, never.count) == (1, 0)


def test_fifty_submits_of_one_new_key_make_one_task_and_no_error(
    ax: AX, caplog: pytest.LogCaptureFixture
) -> None:
    """The losers of the race are told which task it is; nothing of it counts as a failure of anything."""
    probe = Probe()
    probe.tool(ax, effect=Effect.KEYED)
    with caplog.at_level(logging.WARNING):
        handles = together([lambda: ax.submit("pay", key="order-7")] * 50)
    assert {str(h) for h in handles} == {ax.tasks().tasks[0].id}
    assert sum(h.merged_into is None for h in handles) == 1
    assert [ax.wait_for_result(h, timeout=10) for h in handles] == ["done"] * 50
    assert (probe.count, caplog.records) == (1, [])


def test_one_key_with_two_bodies_runs_one_and_refuses_the_other_before_it_could_act(ax: AX) -> None:
    for round_ in range(10):
        probe = Probe()
        probe.tool(ax, f"pay{round_}", effect=Effect.UNSAFE)
        calls = [
            lambda amount=amount, name=f"pay{round_}": ax.call(name, {"amount": amount}, key=f"k{round_}")
            for amount in (10, 99)
        ]
        answers = together(calls)
        assert sorted(type(a).__name__ for a in answers) == ["RequestConflict", "str"]
        assert probe.count == 1
    with pytest.raises(RequestConflict, match="nothing was done"):  # and the same one after the other
        try:
            ax.call("pay9", {"amount": 7}, key="k9")
        except RequestConflict as refused:
            raise RequestConflict(refused.for_model) from None
    assert probe.count == 1


def test_a_failure_is_one_answer_for_all_who_wait(ax: AX) -> None:
    held = Held(RuntimeError("no"))
    probe = Probe(held)
    probe.tool(ax, effect=Effect.UNSAFE)
    calls = [Aside(lambda: ax.call("pay", request_id="r")) for _ in range(4)]
    held.wait_entered()
    held.go.set()
    answers = [outcome(call.result) for call in calls]
    assert [type(a) for a in answers] == [ToolFailed] * 4
    assert probe.count == 1


def test_parallel_calls_of_one_tool_each_get_their_own_result(ax: AX) -> None:
    probe = Probe()
    tool = ax.tool(name="search")(lambda q: f"found {q}")
    assert together([lambda q=q: tool(q) for q in "abc"]) == ["found a", "found b", "found c"]
    assert probe.count == 0


def test_equal_parallel_calls_under_their_own_requests_follow_what_the_tool_declares(ax: AX) -> None:
    """Three identical calls of one model turn: once for a write, three times for a die."""
    pay, roll = Probe(), Probe()
    pay.tool(ax, "pay", effect=Effect.UNSAFE)
    roll.tool(ax, "roll", effect=Effect.UNSAFE, on_duplicate="run")
    with ax.run() as run:
        handles = [ax.submit("pay", request_id=f"p{i}") for i in range(3)]
        rolls = [ax.submit("roll", request_id=f"r{i}") for i in range(3)]
        assert [ax.wait_for_result(h, timeout=10) for h in (*handles, *rolls)] == ["done"] * 6
    assert (pay.count, roll.count) == (1, 3)
    assert len({str(h) for h in handles}) == 1
    assert len(ax.tree(run.id).tasks) == 4


def test_who_attaches_to_a_task_that_is_lost_takes_it_over_and_both_get_the_truth(
    ax: AX, clock: Skew
) -> None:
    held = Held("zombie")
    probe = Probe(held, "second")
    probe.tool(ax, effect=Effect.KEYED)
    first = Aside(lambda: ax.call("pay", request_id="r"))
    held.wait_entered()
    second = Aside(lambda: ax.call("pay", request_id="r"))
    clock.ahead(31)
    assert second.result() == "second"
    held.go.set()
    assert first.result() == "second"
    assert (len(probe.keys), ax.tasks().tasks[0].attempts) == (1, 2)


def test_a_waiter_that_gives_up_does_not_stop_the_task(clock: Skew) -> None:
    held = Held("paid")
    probe = Probe(held)
    with fresh(clock, wait=0.05) as ax:
        probe.tool(ax)
        first = Aside(lambda: ax.call("pay", request_id="r"))
        held.wait_entered()
        with pytest.raises(AXError) as still:
            ax.call("pay", request_id="r")
        assert still.value.code == "still_running"
        held.go.set()
        assert (first.result(), ax.tasks().tasks[0].state) == ("paid", State.SUCCESS)
