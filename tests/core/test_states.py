"""The states of a task: whatever is done to one, in whatever order, it moves as the table says and no other way."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from ax_core import AX, AXError, Effect, NotApplied, current, faults
from ax_core.dispatch import Call
from ax_core.states import FINAL, OPEN, TRANSITIONS, WAY_OUT, State, may
from ax_core.store import tasks
from support.fresh import beat, fresh
from support.probe import Pause
from support.skew import Skew


def test_the_table_knows_every_state_and_only_states() -> None:
    assert set(TRANSITIONS) == {None, *State}
    assert all(isinstance(target, State) for targets in TRANSITIONS.values() for target in targets)
    assert OPEN | FINAL == set(State)
    assert not OPEN & FINAL


def test_every_state_has_exactly_one_documented_way_out_and_the_table_permits_it() -> None:
    assert set(WAY_OUT) == set(State)
    words = {
        "requeue": State.QUEUED,
        "resubmitted": State.RUNNING,
        "resolve": State.SUCCESS,
        "rollback": State.COMPENSATED,
    }
    for state, way in WAY_OUT.items():
        for word, target in words.items():
            assert word not in way or may(state, target), f"{state}: {way}"
        assert way.startswith("never") is (TRANSITIONS[state] <= {State.COMPENSATED}), f"{state}: {way}"
        assert (state in OPEN) is (way.startswith(("by itself", "operator: confirm"))), f"{state}: {way}"


def test_every_state_can_be_reached_and_none_is_its_own_successor() -> None:
    assert set().union(*TRANSITIONS.values()) == set(State)
    assert [state for state, targets in TRANSITIONS.items() if state in targets] == []


def test_nothing_leads_out_of_an_undone_task_and_nothing_undoes_but_a_success() -> None:
    assert TRANSITIONS[State.COMPENSATED] == frozenset()
    assert [s for s in State if may(s, State.COMPENSATED)] == [State.SUCCESS]


def test_a_body_is_entered_from_what_is_ready_and_what_a_person_must_decide_goes_by_a_person() -> None:
    running = {s for s in State if may(s, State.RUNNING)}
    assert running == {State.QUEUED, State.WAITING, State.RETRY_WAIT, State.FAILED, State.TIMEOUT}
    for parked in (State.CONFIRMING, State.QUARANTINE, State.CANCELLED, State.SKIPPED, State.DEAD):
        assert TRANSITIONS[parked].isdisjoint({State.RUNNING, State.RETRY_WAIT, State.WAITING})


def test_a_success_is_recorded_by_an_executor_or_by_whoever_settles_a_doubt() -> None:
    assert {s for s in State if may(s, State.SUCCESS)} == {
        State.RUNNING,
        State.FAILED,
        State.TIMEOUT,
        State.QUARANTINE,
        State.CANCELLED,
        State.DEAD,
    }


# -- random walks over a real store --------------------------------------------------------------------------

CALLS = (
    "returns",
    "raises",
    "refuses",
    "no time",
    "interrupted",
    "vanishes",
    "pauses",
    "slow",
    "acts, raises",
)
VERBS = (
    *("confirm", "edit", "reject", "cancel", "requeue", "happened", "did not", "rerun"),
    *("finish", "lease", "days", "sweep", "pause tool", "resume tool"),
)
STEPS = st.sampled_from((*CALLS, *CALLS, *VERBS))


OUTCOME: ContextVar[str] = ContextVar("outcome", default="returns")
"""How the next body ends; it goes with the call, whichever thread that ends up on."""


class Walk:
    """One task, and everything that can be done to it."""

    def __init__(self, ax: AX, clock: Skew, effect: Effect, confirm: bool, retries: int, marks: bool) -> None:
        self.ax, self.clock = ax, clock
        self.go = threading.Event()
        self.entries: list[str] = []
        self.wrong: list[str] = []
        self.tool = ax.tool(
            name="act",
            effect=effect,
            confirm=confirm,
            retries=retries,
            backoff=60,
            marks_effect=marks,
            timeout=30,
        )(self.body)

    def body(self, order: str = "7") -> str:
        ctx, outcome = current(), OUTCOME.get()
        assert ctx.task_id is not None
        task = self.ax.get(ctx.task_id)
        self.entries.append(ctx.task_id)
        # (A slow one's few milliseconds may be over before this look.)
        if outcome != "slow" and (task.state is not State.RUNNING or task.history[-1].fence != ctx.fence):
            self.wrong.append(f"entered while {task.state} under fence {ctx.fence}")
        if task.effect != "read" and any(not a.closed for a in task.history[:-1]):
            self.wrong.append(f"attempt {ctx.attempt} began before the one before it was closed")
        return self.end(outcome)

    def end(self, outcome: str) -> str:
        if outcome == "raises":
            raise RuntimeError("no")
        if outcome == "acts, raises":
            current().about_to_act()
            raise RuntimeError("no")
        if outcome == "refuses":
            raise NotApplied("no")
        if outcome == "interrupted":
            raise KeyboardInterrupt
        if outcome == "pauses":
            raise Pause
        if outcome == "slow":
            self.go.wait(20)
        return "done"

    def step(self, name: str) -> None:
        if name in CALLS:
            self.call(name)
        elif name == "finish":
            self.finish()
        elif name == "lease":
            self.clock.ahead(31)
        elif name == "days":
            self.clock.ahead(2 * 86_400)
        elif name == "sweep":
            beat(self.ax)
        elif name == "pause tool":
            self.ax.pause("act", by="ops")
        elif name == "resume tool":
            self.ax.resume("act", by="ops")
        else:
            self.decide(name)

    def call(self, outcome: str) -> None:
        OUTCOME.set(outcome)
        if outcome == "vanishes":
            faults.arm("record.before_commit", _vanish)
        limit = 0.0 if outcome == "no time" else 0.01 if outcome == "slow" else None
        call = Call(self.tool, {"order": "7"}, request_id="r", timeout=limit)
        try:
            self.ax.dispatch(call, passes=(Pause,))
        except (AXError, Vanished, Pause, KeyboardInterrupt):
            pass
        finally:
            faults.disarm()

    def decide(self, name: str) -> None:
        verbs: dict[str, Callable[[str], Any]] = {
            "confirm": lambda id: self.ax.confirm(id, by="ops"),
            "edit": lambda id: self.ax.confirm(id, by="ops", payload={"order": "8"}),
            "reject": lambda id: self.ax.reject(id, by="ops", reason="no"),
            "cancel": lambda id: self.ax.cancel(id, by="ops"),
            "requeue": lambda id: self.ax.requeue(id, by="ops"),
            "happened": lambda id: self.ax.resolve(id, happened=True, by="ops", result="seen"),
            "did not": lambda id: self.ax.resolve(id, happened=False, by="ops"),
            "rerun": lambda id: self.ax.resolve(id, happened=False, rerun=True, by="ops"),
        }
        for task in self.ax.tasks().tasks:
            try:
                verbs[name](task.id)
            except AXError as refused:
                assert refused.code == "not_allowed", refused

    def finish(self) -> None:
        self.go.set()
        live = self.ax._core.live
        for _ in range(5000):
            if not len(live):
                break
            threading.Event().wait(0.001)
        self.go.clear()

    def check(self) -> None:
        assert self.wrong == []
        for task in self.ax.tasks().tasks:
            row = self.ax._core.db.read(lambda tx, id=task.id: tasks.get(tx, id))
            assert row is not None
            assert (row.state == State.RUNNING) is (row.lease_until is not None), row.state
            assert (task.state in FINAL) is (task.ended_at is not None), task.state

    def check_trail(self) -> None:
        for task in self.ax.tasks().tasks:
            assert self.ax.verify(task.id) is None
            at: State | None = None
            for entry in self.ax.audit(task.id):
                assert entry.source is at
                assert entry.target is at or may(at, entry.target), f"{at} -> {entry.target} by {entry.verb}"
                at = entry.target
            assert at is task.state


class Vanished(Exception):
    """The process died before it could record the end."""


def _vanish() -> None:
    raise Vanished


def walked(steps: list[str], effect: Effect, confirm: bool, retries: int, marks: bool) -> Walk:
    clock = Skew()
    with fresh(clock, wait=0.02) as ax:
        walk = Walk(ax, clock, effect, confirm, retries, marks)
        for step in steps:
            walk.step(step)
            walk.check()
        walk.finish()
        walk.check()
        walk.check_trail()
        return walk


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True)
@given(
    steps=st.lists(STEPS, min_size=3, max_size=14),
    effect=st.sampled_from([e for e in Effect if e is not Effect.TRANSACTIONAL]),
    confirm=st.booleans(),
    retries=st.sampled_from([0, 1]),
    marks=st.booleans(),
)
@example(["raises", "did not", "returns"], Effect.UNSAFE, False, 0, False)
@example(["returns", "confirm", "raises", "days", "returns"], Effect.UNDECLARED, True, 0, False)
@example(["returns", "confirm", "refuses", "days", "days", "sweep", "returns"], Effect.KEYED, True, 1, False)
@example(["slow", "cancel", "finish", "did not", "requeue", "returns"], Effect.UNSAFE, False, 0, False)
def test_no_sequence_of_verbs_makes_a_move_outside_the_table_or_enters_a_body_unless_running(
    steps: list[str], effect: Effect, confirm: bool, retries: int, marks: bool
) -> None:
    walked(steps, effect, confirm, retries, marks and effect is not Effect.READ)


@pytest.mark.parametrize("effect", [Effect.UNSAFE, Effect.UNDECLARED])
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True)
@given(
    steps=st.lists(
        st.sampled_from(("slow", "lease", "sweep", "cancel", "returns", "vanishes", "days")), max_size=12
    )
)
def test_without_a_persons_word_an_effect_in_doubt_is_never_tried_again(
    effect: Effect, steps: list[str]
) -> None:
    """Timeouts, lost leases, cancels and resubmissions in any order: the body is entered at most once."""
    walk = walked(["slow", *steps], effect, False, 3, False)
    assert len(walk.entries) <= 1
