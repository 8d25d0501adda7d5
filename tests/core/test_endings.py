"""The ending table end to end, through ``ax.call``."""

from __future__ import annotations

import sqlite3
from contextlib import nullcontext
from typing import Any

import pytest

from ax_core import (
    AX,
    AXError,
    Effect,
    NotApplied,
    OutcomeUnknown,
    StillRunning,
    StoreError,
    Task,
    TaskTimeout,
    ToolFailed,
    current,
    faults,
)
from ax_core.decide import POISON
from ax_core.states import State
from support.aside import Aside, outcome
from support.ears import late
from support.endings_table import (
    AGAIN,
    CELLS,
    EFFECTS,
    FAILS_MAYBE,
    IDEMPOTENT,
    KEYED,
    READ,
    SAFE,
    TABLE,
    TRANSACTIONAL,
    UNDECLARED,
    UNKNOWN,
    UNMARKED,
    UNSAFE,
    said,
)
from support.expiry import LIMIT, expiring
from support.fresh import beat
from support.probe import Held, Probe
from support.skew import Skew


def end_as(ending: str, ax: AX, probe: Probe, **policy: Any) -> tuple[Any, Task, Held]:
    """Let every attempt of one call end in ``ending``; what the caller got, the task, and what holds the body."""
    held = Held("late")
    item = {
        "returned": "done",
        "not applied": NotApplied("refused"),
        "raised": RuntimeError("no"),
        "timeout": held,
    }[ending]
    probe.then(*[item] * (1 if ending == "timeout" else 3))
    probe.tool(ax, timeout=LIMIT, backoff=0, **policy)
    with expiring(held) if ending == "timeout" else nullcontext():
        got = outcome(lambda: ax.call("pay", request_id="r"))
    return got, ax.tasks().tasks[0], held


def stands(task: Task) -> str:
    return said(task.state.value, task.reason, task.maybe_applied)


@pytest.mark.parametrize(
    "ending,effect,retries", [c for c in CELLS if c[0] in ("returned", "not applied", "raised")]
)
def test_every_ending_of_a_body_is_recorded_as_the_table_says(
    ax: AX, ending: str, effect: Effect, retries: int
) -> None:
    probe = Probe()
    got, task, _ = end_as(ending, ax, probe, effect=effect, retries=retries)
    alone, further = TABLE[ending][effect]
    assert stands(task) == alone
    assert probe.count == task.attempts == (retries + 1 if further == AGAIN else 1)
    assert len(probe.keys) == 1
    assert not any(attempt.closed is False for attempt in ax.get(task.id).history)
    if ending == "returned":
        assert got == "done"
    else:
        assert isinstance(got, ToolFailed)
        assert got.maybe_applied is (alone == FAILS_MAYBE)
        assert got.safe_to_repeat is (alone != FAILS_MAYBE)
        assert type(got.__cause__) is (NotApplied if ending == "not applied" else RuntimeError)


@pytest.mark.parametrize("effect", [READ, IDEMPOTENT, KEYED, UNDECLARED, UNSAFE])
def test_a_timeout_without_retries_ends_as_the_table_says(ax: AX, effect: Effect) -> None:
    probe = Probe()
    got, task, held = end_as("timeout", ax, probe, effect=effect)
    assert stands(task) == TABLE["timeout"][effect][0]
    assert isinstance(got, OutcomeUnknown if effect in (UNDECLARED, UNSAFE) else TaskTimeout)
    assert got.safe_to_repeat is (effect in SAFE)
    assert not ax.get(task.id).history[-1].closed
    assert probe.count == 1
    held.go.set()


@pytest.mark.parametrize("effect", [IDEMPOTENT, KEYED])
def test_a_timeout_is_retried_only_once_its_attempt_is_closed(ax: AX, effect: Effect) -> None:
    """The caller is free at once; nothing runs beside the body that goes on; whoever comes after it retries."""
    held = Held("late")
    probe = Probe(held, "second")
    probe.tool(ax, effect=effect, retries=1, backoff=0, timeout=LIMIT)
    closed = late(ax)
    with expiring(held), pytest.raises(StillRunning, match="not been seen to end"):
        ax.call("pay", request_id="r")
    for _ in range(2):
        with pytest.raises(StillRunning):
            ax.call("pay", request_id="r")
    task = ax.tasks().tasks[0]
    assert (task.state, task.attempts, probe.count) == (State.RETRY_WAIT, 1, 1)
    held.go.set()
    closed.wait()
    assert ax.call("pay", request_id="r") == "second"
    assert [(a.number, a.late_outcome) for a in ax.get(task.id).history][0] == (1, "returned")
    assert (probe.count, len(probe.keys)) == (2, 1)


def test_a_read_that_timed_out_is_retried_beside_its_open_attempt(ax: AX) -> None:
    held = Held("late")
    probe = Probe(held, "second")
    probe.tool(ax, effect=READ, retries=1, backoff=0, timeout=LIMIT)
    with expiring(held):
        assert ax.call("pay") == "second"
    assert not held.go.is_set()
    held.go.set()


@pytest.mark.parametrize("effect", [UNDECLARED, UNSAFE])
def test_a_timeout_in_doubt_is_never_retried_by_itself(ax: AX, effect: Effect) -> None:
    probe = Probe()
    got, task, held = end_as("timeout", ax, probe, effect=effect, retries=3)
    assert (type(got), stands(task), probe.count) == (OutcomeUnknown, UNKNOWN, 1)
    held.go.set()


@pytest.mark.parametrize("effect", [READ, IDEMPOTENT, KEYED])
def test_a_lost_attempt_of_a_repeatable_tool_runs_again_under_the_same_key(
    ax: AX, clock: Skew, effect: Effect
) -> None:
    probe = Probe()
    held = Held("zombie")
    probe.then(held)
    probe.tool(ax, effect=effect)
    first = Aside(lambda: ax.call("pay", request_id="r"))
    held.wait_entered()
    clock.ahead(31)
    assert ax.call("pay", request_id="r") == "done"
    task = ax.tasks().tasks[0]
    assert (task.attempts, task.interruptions, probe.count, len(probe.keys)) == (2, 1, 2, 1)
    held.go.set()
    assert first.result() == "done"  # the zombie is refused, and told what is true
    assert ax.get(task.id).history[0].late_outcome == "returned"
    assert ax.get(task.id).result == "done"


@pytest.mark.parametrize("effect", [UNDECLARED, UNSAFE])
def test_a_lost_attempt_of_any_other_tool_is_in_doubt_and_not_run_again(
    ax: AX, clock: Skew, effect: Effect
) -> None:
    held = Held("zombie")
    probe = Probe(held)
    probe.tool(ax, effect=effect, retries=3)
    first = Aside(lambda: ax.call("pay", request_id="r"))
    held.wait_entered()
    clock.ahead(31)
    with pytest.raises(OutcomeUnknown):
        ax.call("pay", request_id="r")
    assert (stands(ax.tasks().tasks[0]), probe.count) == (UNKNOWN, 1)
    held.go.set()
    assert first.result() == "zombie"  # the late end settles what nobody had resolved
    assert ax.tasks().tasks[0].state is State.SUCCESS


@pytest.mark.parametrize("effect", [UNDECLARED, UNSAFE])
@pytest.mark.parametrize("acted", [False, True], ids=["unmarked", "marked"])
@pytest.mark.parametrize("ending", ["raised", "timeout", "lost"])
def test_the_mark_decides_what_a_bad_ending_means(
    ax: AX, clock: Skew, ending: str, acted: bool, effect: Effect
) -> None:
    held = Held("late")
    then = RuntimeError("no") if ending == "raised" else held

    def body(ctx: Any) -> Any:
        if acted:
            ctx.about_to_act()
        return then

    probe = Probe(body)
    probe.tool(ax, effect=effect, marks_effect=True, timeout=LIMIT if ending == "timeout" else None)
    with expiring(held) if ending == "timeout" else nullcontext():
        call = Aside(lambda: ax.call("pay", request_id="r"))
        if ending == "lost":
            held.wait_entered()
            clock.ahead(31)
            beat(ax)
        else:
            outcome(call.result)
    task = ax.tasks().tasks[0]
    held.go.set()
    outcome(call.result)
    assert stands(task) == (TABLE if acted else UNMARKED)[ending][effect][0]


def test_a_tool_that_runs_past_its_deadline_is_refused_the_mark_and_may_run_again(
    ax: AX, clock: Skew
) -> None:
    body = Held(lambda ctx: ctx.about_to_act())
    probe = Probe(body)
    probe.tool(ax, effect=UNSAFE, marks_effect=True, retries=1, backoff=0, timeout=LIMIT)
    closed = late(ax)
    with expiring(body):
        call = Aside(lambda: ax.call("pay", request_id="r"))
        body.wait_entered()
        clock.ahead(LIMIT)
        outcome(call.result)
    body.go.set()
    closed.wait()
    assert ax.call("pay", request_id="r") == "done"
    task = ax.tasks().tasks[0]
    assert (task.state, probe.count, ax.get(task.id).history[0].acted_at) == (State.SUCCESS, 2, None)


@pytest.mark.parametrize("effect", EFFECTS)
def test_an_interrupted_host_is_no_failure_of_the_tool(ax: AX, effect: Effect) -> None:
    """Ctrl-C passes up untouched; the task is ready again where that is harmless, and in doubt where it is not."""
    probe = Probe(KeyboardInterrupt())
    probe.tool(ax, effect=effect)
    with pytest.raises(KeyboardInterrupt):
        ax.call("pay", request_id="r")
    assert stands(ax.tasks().tasks[0]) == TABLE["lost"][effect][0]
    again = outcome(lambda: ax.call("pay", request_id="r"))
    assert isinstance(again, AXError) if effect in (UNDECLARED, UNSAFE) else again == "done"
    assert probe.count == (1 if effect in (UNDECLARED, UNSAFE) else 2)


def test_a_tool_that_kills_its_process_over_and_over_is_given_up_at_the_fifth(ax: AX) -> None:
    probe = Probe(*[KeyboardInterrupt()] * 10)
    probe.tool(ax, effect=READ)
    for _ in range(POISON):
        with pytest.raises(KeyboardInterrupt):
            ax.call("pay", request_id="r")
    with pytest.raises(AXError) as dead:
        ax.call("pay", request_id="r")
    assert (dead.value.code, probe.count, stands(ax.tasks().tasks[0])) == ("dead", POISON, "DEAD poison")


def test_a_policy_may_name_exceptions_that_mean_nothing_happened(ax: AX) -> None:
    probe = Probe(LookupError("no such order"), "done")
    probe.tool(ax, effect=UNSAFE, not_applied=(LookupError,), retries=1, backoff=0)
    assert (ax.call("pay"), probe.count) == ("done", 2)


def test_outside_a_task_the_context_is_inert() -> None:
    ctx = current()
    assert (ctx.task_id, ctx.run_id, ctx.attempt, ctx.fence, ctx.idempotency_key) == (None, None, 0, 0, None)
    assert (ctx.cancelled, ctx.remaining(), dict(ctx.results)) == (False, None, {})
    ctx.about_to_act()


@pytest.mark.parametrize("effect", [TRANSACTIONAL, UNSAFE])
def test_a_body_whose_thread_came_too_late_is_never_entered(ax: AX, effect: Effect) -> None:
    """The deadline passed while the thread was still on its way: nothing happened, and nothing will."""
    jobs: list[Any] = []
    probe = Probe()
    probe.tool(ax, effect=effect)
    threads = ax._core.threads
    spawn, threads.spawn = threads.spawn, jobs.append  # type: ignore[method-assign]
    with pytest.raises(TaskTimeout):
        ax.call("pay", request_id="r", timeout=0.02)
    threads.spawn = spawn  # type: ignore[method-assign]
    for job in jobs:
        job()
    assert (stands(ax.tasks().tasks[0]), probe.count) == ("TIMEOUT", 0)
    assert (ax.call("pay", request_id="r"), probe.count) == ("done", 1)


@pytest.mark.parametrize("timeout", [None, 30.0], ids=["on the caller's thread", "on a thread of its own"])
@pytest.mark.parametrize("effect", [UNDECLARED, UNSAFE])
def test_an_end_that_could_not_be_recorded_leaves_an_honest_claim_and_is_never_told_as_the_tools_failure(
    ax: AX, clock: Skew, effect: Effect, timeout: float | None
) -> None:
    def full() -> None:
        raise sqlite3.OperationalError("database or disk is full")

    probe = Probe()
    probe.tool(ax, effect=effect, timeout=timeout)
    faults.arm("record.before_commit", full)
    try:
        with pytest.raises(StoreError, match="no disk space"):
            ax.call("pay", request_id="r")
    finally:
        faults.disarm()
    assert ax.tasks().tasks[0].state is State.RUNNING
    clock.ahead(31)
    with pytest.raises(OutcomeUnknown):
        ax.call("pay", request_id="r")
    assert probe.count == 1


def test_a_body_that_notices_its_deadline_after_its_caller_did_closes_its_attempt(ax: AX) -> None:
    noticed = Held(lambda ctx: TaskTimeout("the deadline passed", task_id=ctx.task_id))
    probe, closed = Probe(noticed), late(ax)
    probe.tool(ax, effect=IDEMPOTENT, timeout=LIMIT)
    with expiring(noticed), pytest.raises(TaskTimeout):
        ax.call("pay", request_id="r")
    noticed.go.set()
    closed.wait()
    assert (ax.call("pay", request_id="r"), probe.count) == ("done", 2)


@pytest.mark.parametrize("effect", [UNDECLARED, UNSAFE])
def test_a_body_that_stopped_after_it_was_given_up_leaves_the_doubt_to_a_person(
    ax: AX, effect: Effect
) -> None:
    """It says that it did no more, not that it did nothing."""
    stopped = Held(lambda ctx: ctx.raise_if_cancelled())
    probe, closed = Probe(stopped), late(ax)
    probe.tool(ax, effect=effect, timeout=LIMIT)
    with expiring(stopped), pytest.raises(OutcomeUnknown):
        ax.call("pay", request_id="r")
    stopped.go.set()
    closed.wait()
    task = ax.get(ax.tasks().tasks[0].id)
    assert (stands(task), task.history[0].closed, task.history[0].late_outcome) == (UNKNOWN, True, "stopped")
    with pytest.raises(OutcomeUnknown):
        ax.call("pay", request_id="r")
    assert probe.count == 1
