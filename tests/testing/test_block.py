"""``with ax.testing()``: another store and clock in place, and everything as it was afterwards."""

from __future__ import annotations

import threading
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from ax_core import (
    AX,
    ConfirmationPending,
    Happened,
    OutcomeUnknown,
    Policy,
    Rejected,
    State,
    ToolFailed,
    current,
)
from ax_core.testing import Crash, FakeClock


@pytest.fixture
def ax(tmp_path: Path) -> AX:
    ax = AX(f"sqlite:///{tmp_path}/ax.db")

    @ax.tool(effect="unsafe", confirm=lambda args: args["amount"] > 100)
    def refund(order: str, amount: int) -> str:
        return f"{amount} back for {order}"

    return ax


def test_the_real_store_is_not_touched_and_comes_back(ax: AX, tmp_path: Path) -> None:
    with ax.testing():
        ax.call("refund", {"order": "7", "amount": 1})
        assert len(ax.tasks().tasks) == 1
    assert not (tmp_path / "ax.db").exists()
    ax.call("refund", {"order": "8", "amount": 2})
    with ax.testing():
        assert ax.tasks().tasks == ()
    assert [task.payload["order"] for task in ax.tasks().tasks] == ["8"]
    ax.close()


def test_the_watch_of_the_real_store_does_not_judge_it_by_the_tests_clock(ax: AX) -> None:
    inside, go_on, answer = threading.Event(), threading.Event(), []
    elsewhere = AX(ax._core.url)

    @elsewhere.tool(effect="unsafe", timeout=None)
    def slow() -> str:
        inside.set()
        go_on.wait(30)
        return "done"

    thread = threading.Thread(target=lambda: answer.append(elsewhere.call("slow")))
    thread.start()
    assert inside.wait(30)
    assert ax.tasks().tasks[0].state is State.RUNNING
    watch = ax._core._watch
    assert watch is not None
    with ax.testing(clock=FakeClock(datetime(2100, 1, 1, tzinfo=UTC))):
        watch.tick(everything=True)
    go_on.set()
    thread.join(30)
    assert answer == ["done"]
    assert [entry.verb for entry in ax.audit(ax.tasks().tasks[0].id)] == ["claim", "returned"]
    elsewhere.close()
    ax.close()


def test_blocks_with_the_same_seed_see_nothing_of_each_other(ax: AX) -> None:
    other = AX()
    with ax.testing():
        ax.call("refund", {"order": "7", "amount": 1})
        with other.testing():
            assert other.tasks().tasks == ()
        with ax.testing():
            assert ax.tasks().tasks == ()
        assert len(ax.tasks().tasks) == 1


def test_an_ax_that_is_closed_inside_is_open_again_outside(ax: AX) -> None:
    with ax.testing():
        ax.close()
    assert ax.call("refund", {"order": "7", "amount": 1})
    ax.close()


def test_a_tool_registered_inside_is_known_to_operators_outside(ax: AX) -> None:
    with ax.testing():
        ax.register(lambda: "seen", name="look", policy="read")
        assert ax.call("look") == "seen"
    assert ax.pause("look", by="ops")
    ax.close()


def test_namespaces_stay_apart_inside(ax: AX) -> None:
    acme = ax.for_namespace("acme")
    with ax.testing():
        acme.call("refund", {"order": "7", "amount": 1})
        assert (len(acme.tasks().tasks), len(ax.tasks().tasks)) == (1, 0)


def test_retries_take_no_time_and_move_the_clock(ax: AX) -> None:
    tries: list[datetime] = []
    with ax.testing() as t:

        @ax.tool(effect="keyed", retries=3, backoff=120)
        def flaky() -> str:
            tries.append(t.clock.at)
            if len(tries) < 3:
                raise OSError("not yet")
            return "now"

        assert ax.call("flaky") == "now"
        assert [(at - tries[0]).total_seconds() for at in tries] == [0, 120, 240]
        assert (t.entered("flaky"), t.effects("flaky")) == (3, 1)


async def test_retries_take_no_time_in_async_code(ax: AX) -> None:
    async with ax.testing() as t:

        @ax.tool(effect="keyed", retries=1, backoff=120)
        async def flaky() -> str:
            if current().attempt == 1:
                raise OSError("not yet")
            return "now"

        assert await ax.acall("flaky") == "now"
        assert t.clock.monotonic() == 120


def test_without_jumps_a_retry_waits_until_the_test_moves_the_clock(ax: AX) -> None:
    failed, answer = threading.Event(), []
    with ax.testing(clock=FakeClock(jumps=False)) as t:

        @ax.tool(effect="keyed", retries=1, backoff=60)
        def flaky() -> str:
            if current().attempt == 1:
                raise OSError("not yet")
            return "now"

        ax.on("retrying")(lambda event: failed.set())
        thread = threading.Thread(target=lambda: answer.append(ax.call("flaky")))
        thread.start()
        assert failed.wait(30)
        assert ax.tasks().tasks[0].state is State.RETRY_WAIT
        t.clock.advance(60)
        thread.join(30)
        assert answer == ["now"]


def test_a_wait_that_nobody_ends_is_over_in_its_own_time(ax: AX) -> None:
    with ax.testing() as t:
        task_id = ax.submit("refund", {"order": "7", "amount": 500})
        with pytest.raises(ConfirmationPending):
            ax.wait_for_result(task_id, timeout=0.05)
        assert t.clock.monotonic() == pytest.approx(0.05)


def test_a_tick_lets_approvals_expire(ax: AX) -> None:
    with ax.testing() as t:
        with pytest.raises(ConfirmationPending) as pending:
            ax.call("refund", {"order": "7", "amount": 500}, request_id="r1")
        t.clock.advance(86_399)
        t.tick()
        assert ax.get(pending.value.task_id or "").state is State.CONFIRMING
        t.clock.advance(1)
        t.tick()
        assert ax.get(pending.value.task_id or "").reason == "approval_expired"
        with pytest.raises(Rejected, match="not approved in time"):
            ax.call("refund", {"order": "7", "amount": 500}, request_id="r1")
        assert [event.name for event in t.events] == ["confirming", "expired"]


def test_a_tick_asks_the_tool_about_what_is_in_doubt_once_it_has_settled(ax: AX) -> None:
    asked: list[Any] = []

    def reconcile(ctx: Any) -> Happened:
        asked.append(ctx.idempotency_key)
        return Happened("it is there")

    @ax.tool(effect="unsafe", reconcile=reconcile, settle=60)
    def pay() -> str:
        return "paid"

    with ax.testing() as t:
        t.crash(pay, at="after")
        with pytest.raises(Crash):
            ax.call("pay", request_id="r1")
        with pytest.raises(OutcomeUnknown):
            ax.call("pay", request_id="r1")
        t.tick()
        assert asked == []
        t.clock.advance(60)
        t.tick()
        assert len(asked) == 1
        assert ax.call("pay", request_id="r1") == "it is there"


def test_a_living_process_keeps_its_leases_through_a_tick_and_warns_of_what_takes_long(ax: AX) -> None:
    with ax.testing() as t:

        @ax.tool(timeout=None)
        def slow() -> str:
            t.clock.advance(100)  # beyond the lease
            t.tick()
            return "done"

        assert ax.call("slow") == "done"
        assert [event.detail["kind"] for event in t.events if event.name == "alert"] == ["overdue"]


def test_a_deadline_that_the_clock_has_passed_stops_a_tool_before_it_acts(ax: AX) -> None:
    with ax.testing() as t:

        @ax.tool(effect="unsafe", marks_effect=True, timeout=10, retries=0)
        def pay() -> str:
            t.clock.advance(11)
            current().about_to_act()
            return "paid"

        with pytest.raises(Exception, match="ran out of time"):
            ax.call("pay")
        assert (t.entered(pay), t.effects(pay)) == (1, 0)


def test_a_body_that_raised_was_entered_and_had_no_effect_that_can_be_told(ax: AX) -> None:
    with ax.testing() as t:

        @ax.tool(policy=Policy("read"))
        def broken() -> str:
            raise OSError("no")

        with pytest.raises(ToolFailed):
            ax.call("broken")
        assert (t.entered("broken"), t.effects("broken")) == (1, 0)


def test_two_runs_of_a_test_record_the_same(ax: AX) -> None:
    def story() -> list[Any]:
        with ax.testing(clock=FakeClock(seed=3)) as t:
            ax.call("refund", {"order": "7", "amount": 1})
            t.clock.advance(5)
            ax.call("refund", {"order": "8", "amount": 1})
            return [(task.id, task.created_at, task.idempotency_key) for task in ax.tasks().tasks]

    assert story() == story()


def test_handlers_of_the_user_hear_what_happens_inside(ax: AX) -> None:
    heard: list[str] = []
    ax.on("succeeded")(lambda event: heard.append(event.tool))
    with ax.testing() as t:
        ax.call("refund", {"order": "7", "amount": 1})
        assert [event.name for event in t.events] == ["started", "succeeded"]
    assert heard == ["refund"]
    assert not ax._core.hooks.wants("failed")
