"""What is decided about an ending: every cell of the table, without a store."""

from __future__ import annotations

from typing import Any

import pytest

from ax_core import (
    Effect,
    NotApplied,
)
from ax_core.decide import POISON, Facts, Lost, Paused, Raised, Returned, Stopped, TimedOut, decide
from ax_core.states import State
from support.endings_table import (
    CELLS,
    EFFECTS,
    IDEMPOTENT,
    KEYED,
    READ,
    SAFE,
    TABLE,
    UNDECLARED,
    UNKNOWN,
    UNMARKED,
    UNSAFE,
    said,
)

ENDINGS: dict[str, Any] = {
    "returned": Returned(1),
    "not applied": Raised(NotApplied("no"), not_applied=True),
    "raised": Raised(RuntimeError("no")),
    "timeout": TimedOut(closed=False),
    "lost": Lost(),
}


def decided(facts: Facts, ending: Any) -> str:
    decision = decide(facts, ending)
    return said(
        decision.state.value, decision.reason.value if decision.reason else None, decision.maybe_applied
    )


@pytest.mark.parametrize("ending,effect,retries", CELLS)
def test_every_cell_is_decided_as_the_table_says(ending: str, effect: Effect, retries: int) -> None:
    facts = Facts(effect, max_attempts=retries + 1)
    assert decided(facts, ENDINGS[ending]) == TABLE[ending][effect][retries > 0]


@pytest.mark.parametrize("ending,effect,retries", CELLS)
def test_the_last_attempt_has_no_retry_left(ending: str, effect: Effect, retries: int) -> None:
    facts = Facts(effect, max_attempts=retries + 1, failures=retries)
    assert decided(facts, ENDINGS[ending]) == TABLE[ending][effect][0]


@pytest.mark.parametrize("retries", [0, 2])
@pytest.mark.parametrize("effect", [UNDECLARED, UNSAFE])
@pytest.mark.parametrize("ending", list(UNMARKED))
def test_before_the_mark_nothing_is_in_doubt_and_after_it_everything(
    ending: str, effect: Effect, retries: int
) -> None:
    before = Facts(effect, marks_effect=True, max_attempts=retries + 1)
    after = Facts(effect, marks_effect=True, acted=True, max_attempts=retries + 1)
    assert decided(before, ENDINGS[ending]) == UNMARKED[ending][effect][retries > 0]
    assert decided(after, ENDINGS[ending]) == TABLE[ending][effect][retries > 0]


@pytest.mark.parametrize("effect", [IDEMPOTENT, KEYED])
@pytest.mark.parametrize("ending", list(UNMARKED))
def test_a_mark_changes_nothing_where_a_repeat_is_harmless(ending: str, effect: Effect) -> None:
    for acted in (False, True):
        facts = Facts(effect, marks_effect=True, acted=acted, max_attempts=3)
        assert decided(facts, ENDINGS[ending]) == TABLE[ending][effect][1]


@pytest.mark.parametrize("effect", [READ, UNSAFE])
def test_a_timeout_leaves_the_attempt_open_until_the_body_was_seen_to_end(effect: Effect) -> None:
    assert not decide(Facts(effect), TimedOut(closed=False)).closed
    assert decide(Facts(effect), TimedOut(closed=True)).closed


@pytest.mark.parametrize("effect", EFFECTS)
def test_a_body_that_was_never_entered_leaves_no_doubt_at_all(effect: Effect) -> None:
    assert decided(Facts(effect), TimedOut(closed=True, entered=False)) == "TIMEOUT"
    lost = decide(Facts(effect, interruptions=POISON), Lost(entered=False))
    assert (lost.state, lost.interruption) == (State.QUEUED, False)


@pytest.mark.parametrize("effect", SAFE)
def test_interruptions_are_no_failures_and_have_a_cap_of_their_own(effect: Effect) -> None:
    for before in range(POISON - 1):
        decision = decide(Facts(effect, interruptions=before, max_attempts=1), Lost())
        assert (decision.state, decision.failure, decision.interruption) == (State.QUEUED, False, True)
    assert decided(Facts(effect, interruptions=POISON - 1), Lost()) == "DEAD poison"


@pytest.mark.parametrize("effect", EFFECTS)
@pytest.mark.parametrize("ending", ["not applied", "raised", "timeout", "lost"])
def test_a_cancelled_task_gets_no_further_attempt_whatever_its_ending(ending: str, effect: Effect) -> None:
    decision = decide(Facts(effect, max_attempts=5, cancel_requested=True), ENDINGS[ending])
    assert decision.state not in (State.RETRY_WAIT, State.QUEUED, State.WAITING)


@pytest.mark.parametrize("effect", EFFECTS)
def test_a_body_that_obeyed_a_cancel_is_cancelled_and_one_that_was_cut_off_may_be_in_doubt(
    effect: Effect,
) -> None:
    unsafe = effect in (UNDECLARED, UNSAFE)
    assert decided(Facts(effect), Stopped()) == said("CANCELLED", "by_user", unsafe)
    assert decided(Facts(effect), Stopped(by_itself=False)) == (UNKNOWN if unsafe else "CANCELLED by_user")


@pytest.mark.parametrize("effect", EFFECTS)
def test_a_frameworks_pause_is_no_failure_unless_the_tool_had_acted(effect: Effect) -> None:
    paused = decide(Facts(effect), Paused())
    assert (paused.state, paused.reason, paused.failure) == (State.WAITING, "paused", False)
    assert decided(Facts(effect, marks_effect=True, acted=True), Paused()) == UNKNOWN


@pytest.mark.parametrize("ending", ["not applied", "raised", "timeout"])
def test_exhausted_retries_are_a_dead_letter_only_where_nobody_waits(ending: str) -> None:
    spent = {"max_attempts": 3, "failures": 2}
    assert decided(Facts(IDEMPOTENT, **spent, waited=False), ENDINGS[ending]) == "DEAD retries_exhausted"
    assert decided(Facts(IDEMPOTENT, **spent), ENDINGS[ending]) == TABLE[ending][IDEMPOTENT][0]
    assert decided(Facts(IDEMPOTENT, waited=False), ENDINGS[ending]) == TABLE[ending][IDEMPOTENT][0]
