"""Retries: only where a repeat is safe, with one key, after a delay that is drawn once and stored."""

from __future__ import annotations

from typing import Any

import pytest
import tenacity

from ax_core import AX, Closed, Effect, NotApplied, PolicyError, State, StillRunning, TaskDead, ToolFailed
from ax_core.decide import delay
from support.aside import Aside, outcome
from support.ears import Ear
from support.fresh import fresh
from support.probe import Held, Probe
from support.skew import Skew


class Busy(Exception):
    """A downstream that says when to come back."""

    def __init__(self, retry_after: float) -> None:
        super().__init__(f"come back in {retry_after} s")
        self.retry_after = retry_after


def waiting(ax: AX, **policy: Any) -> Any:
    """A task that waits for its second attempt."""
    retrying = Ear(ax, "retrying")
    Probe(*policy.pop("script", [RuntimeError("down")])).tool(ax, effect=Effect.KEYED, retries=2, **policy)
    handle = ax.submit("pay", request_id="r")
    retrying.wait()
    return ax.get(handle)


def seconds(task: Any) -> float:
    return round((task.due_at - task.history[-1].ended_at).total_seconds(), 3)


def test_attempts_share_one_key_and_have_numbers_and_fences_of_their_own(ax: AX) -> None:
    probe = Probe(RuntimeError("1"), RuntimeError("2"), "paid")
    probe.tool(ax, effect=Effect.KEYED, retries=2, backoff=0)
    assert ax.call("pay") == "paid"
    assert [(attempt, fence) for attempt, fence, _, _ in probe.seen] == [(1, 1), (2, 2), (3, 3)]
    assert len(probe.keys) == 1
    task = ax.get(ax.tasks().tasks[0].id)
    assert [(a.number, a.outcome, a.error and a.error["message"]) for a in task.history] == [
        (1, "raised", "1"),
        (2, "raised", "2"),
        (3, "returned", None),
    ]


def test_when_retries_are_spent_the_last_failure_is_the_answer(ax: AX) -> None:
    probe = Probe(RuntimeError("1"), RuntimeError("2"))
    probe.tool(ax, effect=Effect.KEYED, retries=1, backoff=0)
    with pytest.raises(ToolFailed, match="2"):
        ax.call("pay")
    assert probe.count == 2


def test_zero_retries_is_one_attempt_and_less_than_none_is_refused(ax: AX) -> None:
    probe = Probe(RuntimeError("no"))
    probe.tool(ax, effect=Effect.KEYED, retries=0)
    assert isinstance(outcome(lambda: ax.call("pay")), ToolFailed)
    assert probe.count == 1
    for bad in (-1, 1.5, True, "2"):
        with pytest.raises(PolicyError, match="retries"):
            ax.tool(retries=bad)(lambda order: order)


# -- the delay -----------------------------------------------------------------------------------------------


def test_the_delay_is_stored_and_neither_shortened_nor_drawn_anew_by_a_restart(
    tmp_path: Any, clock: Skew
) -> None:
    path = tmp_path / "ax.db"
    with fresh(clock, path) as ax:
        task = waiting(ax, backoff=60)
        assert seconds(task) == 60
    clock.chance = 0.99
    with fresh(clock, path, wait=0.01) as ax:
        probe = Probe("paid")
        probe.tool(ax, effect=Effect.KEYED, retries=2, backoff=5)
        clock.ahead(30)
        assert isinstance(outcome(lambda: ax.call("pay", request_id="r")), StillRunning)
        assert (ax.get(task.id).due_at, probe.count) == (task.due_at, 0)
        clock.ahead(31)
        assert ax.call("pay", request_id="r") == "paid"
    assert probe.keys == {task.idempotency_key}


@pytest.mark.parametrize("chance,first,second", [(0.0, 0.5, 1.0), (0.5, 0.75, 1.5), (0.999, 1.0, 2.0)])
def test_by_default_it_doubles_from_a_second_with_jitter(chance: float, first: float, second: float) -> None:
    assert [round(delay(None, n, None, chance) / 1e6, 2) for n in (1, 2)] == pytest.approx(
        [first, second], abs=0.01
    )
    assert delay(None, 50, None, 0.999) <= 60_000_000


def test_a_number_of_seconds_is_that_many(ax: AX) -> None:
    assert seconds(waiting(ax, backoff=7.5)) == 7.5


@pytest.mark.parametrize(
    "strategy,expected",
    [
        (tenacity.wait_fixed(3), [3, 3, 3]),
        (tenacity.wait_exponential(multiplier=2, max=7), [2, 4, 7]),
        (tenacity.wait_chain(*[tenacity.wait_fixed(n) for n in (1, 5)]), [1, 5, 5]),
        (tenacity.wait_fixed(1) + tenacity.wait_incrementing(10, 10), [11, 21, 31]),
    ],
)
def test_a_tenacity_wait_strategy_is_used_as_arithmetic(strategy: Any, expected: list[int]) -> None:
    assert [delay(strategy, n, None, 0.5) / 1e6 for n in (1, 2, 3)] == expected


def test_a_tenacity_wait_strategy_sets_the_stored_delay(ax: AX) -> None:
    assert seconds(waiting(ax, backoff=tenacity.wait_fixed(42))) == 42


def test_a_backoff_that_is_no_strategy_is_refused(ax: AX) -> None:
    for bad in ("fast", -1, [1, 2]):
        with pytest.raises(PolicyError, match="backoff"):
            ax.tool(backoff=bad)(lambda order: order)


@pytest.mark.parametrize("backoff", [None, 0, 3, tenacity.wait_fixed(1)])
def test_no_attempt_comes_before_the_downstream_asked_for_it(backoff: Any) -> None:
    """And of many that were sent away together, not all come back in the same moment."""
    drawn = {delay(backoff, 1, 10.0, chance / 100) for chance in range(100)}
    assert min(drawn) >= 10_000_000
    assert max(drawn) <= 15_000_000
    assert len(drawn) == 100


def test_what_the_downstream_asked_for_does_not_shorten_a_longer_backoff() -> None:
    assert delay(60, 1, 10.0, 0.5) == 60_000_000


def test_retry_after_is_read_off_the_tools_exception(ax: AX, clock: Skew) -> None:
    clock.chance = 0.0
    assert seconds(waiting(ax, backoff=0, script=[Busy(10)])) == 10


def test_a_caller_waits_for_its_retry_by_itself(ax: AX) -> None:
    probe = Probe(RuntimeError("down"), "paid")
    probe.tool(ax, effect=Effect.KEYED, retries=1, backoff=0.05)
    assert ax.call("pay") == "paid"


def test_a_retry_whose_caller_is_gone_runs_in_a_process_that_serves(tmp_path: Any, clock: Skew) -> None:
    path = tmp_path / "ax.db"
    with fresh(clock, path) as ax:
        waiting(ax, backoff=60)
    clock.ahead(61)
    with fresh(clock, path) as ax:
        Probe("paid").tool(ax, effect=Effect.KEYED, retries=2)
        done = Ear(ax, "succeeded")
        with ax.serve():
            done.wait()
        assert ax.call("pay", request_id="r") == "paid"


def test_a_task_that_fails_fast_does_not_hold_up_newer_ones(ax: AX) -> None:
    waiting(ax, backoff=60)
    Probe("new").tool(ax, "other")
    ax.pause("other", by="ops")
    ax.submit("other")
    ax.resume("other", by="ops")
    done = Ear(ax, "succeeded")
    with ax.serve(concurrency=1):
        assert done.wait().tool == "other"


# -- nobody waits --------------------------------------------------------------------------------------------


def test_retries_that_are_spent_with_nobody_waiting_are_a_dead_letter(ax: AX) -> None:
    dead = Ear(ax, "alert", kind="dead:retries_exhausted")
    Probe(RuntimeError("1"), RuntimeError("2")).tool(ax, effect=Effect.KEYED, retries=1, backoff=0)
    handle = ax.submit("pay")
    dead.wait()
    assert (ax.get(handle).state, ax.get(handle).reason) == (State.DEAD, "retries_exhausted")
    with pytest.raises(TaskDead):
        ax.wait_for_result(handle, timeout=5)
    assert [t.id for t in ax.inbox()] == [handle]


def test_retries_that_are_spent_while_somebody_waits_are_that_callers_answer(ax: AX) -> None:
    held = Held(RuntimeError("1"))
    Probe(held, RuntimeError("2")).tool(ax, effect=Effect.KEYED, retries=1, backoff=0)
    handle = ax.submit("pay")
    held.wait_entered()
    waits = Aside(lambda: ax.wait_for_result(handle, timeout=20))
    while not ax._core.waiters.any(handle):
        held.entered.wait(0.001)
    held.go.set()
    with pytest.raises(ToolFailed, match="2"):
        waits.result()
    assert ax.get(handle).state is State.FAILED


def test_an_unsafe_tool_is_retried_only_after_it_said_that_nothing_happened(ax: AX) -> None:
    probe = Probe(NotApplied("busy"), RuntimeError("reply lost"), "never")
    probe.tool(ax, effect=Effect.UNSAFE, retries=5, backoff=0)
    with pytest.raises(ToolFailed, match="reply lost") as failed:
        ax.call("pay")
    assert (failed.value.maybe_applied, probe.count) == (True, 2)


def test_a_closed_ax_starts_nothing_that_was_still_waiting(ax: AX, clock: Skew) -> None:
    probe = Probe(RuntimeError("down"))
    probe.tool(ax, effect=Effect.KEYED, retries=1, backoff=60)
    retrying = Ear(ax, "retrying")
    call = Aside(lambda: ax.call("pay", request_id="r"))
    retrying.wait()
    ax.close(drain=0)
    clock.ahead(61)
    with pytest.raises(Closed, match="waits for whoever holds its request"):
        call.result()
    assert probe.count == 1
