"""A process that stood still beyond its lease comes back: its result is refused, kept as evidence, and told."""

from __future__ import annotations

import pytest

from support.children import Child
from support.outside import Row
from support.processes import Stage, call

LEASE = {"lease": 3.0, "heartbeat": 1.0}
FORMS = ("here", "thread", "loop")


def stopped_at(stage: Stage, gate: str, each: Row) -> Child:
    """A process that stands still at a gate inside the body."""
    zombie = stage.start(each, settings=LEASE)
    stage.world.wait_for(kind=f"at {gate}", pid=zombie.pid)
    zombie.stop()
    return zombie


def come_back(stage: Stage, zombie: Child) -> tuple[Row, list[str]]:
    """It goes on; what its caller is told, and which alerts it raises."""
    zombie.go_on()
    heard = stage.over(zombie)
    assert zombie.ended, zombie.complaint()
    (told,) = [line for line in heard if "said" in line]
    return told, [line["alert"] for line in heard if "alert" in line]


def by_request(told: list[Row]) -> dict[str, Row]:
    return {line["request"]: line for line in told}


@pytest.mark.parametrize("kind", ["idempotent", "keyed", "undeclared_marked"])
def test_what_may_be_repeated_is_taken_over_and_the_zombie_is_told_the_result_on_record(
    stage: Stage, kind: str
) -> None:
    marked = kind.endswith("_marked")
    calls = {
        form: call(f"{kind}_{form}", form, **{"before" if marked else "after": "door"}) for form in FORMS
    }
    zombies = {form: stopped_at(stage, "door", each) for form, each in calls.items()}
    stage.world.open("door")
    taken_over = by_request(stage.run(*calls.values(), settings=LEASE, together=True))
    for form, zombie in zombies.items():
        told, alerts = come_back(stage, zombie)
        assert told["said"] == taken_over[form]["said"] == "value"
        assert told["value"] == taken_over[form]["value"]
        assert alerts == ["late"]
        kept = stage.record()[form]
        first, second = kept.attempts
        assert (first.outcome, second.outcome) == ("lost", "returned")
        # A marked tool was stopped at the mark, which is refused to it; the others had acted already, and a
        # coroutine that is no longer the task's is cut off.
        late = {"stopped"} if marked else {"returned", "stopped"} if form == "loop" else {"returned"}
        assert first.late_outcome in late
        assert "late_evidence" in kept.verbs
    assert stage.judge(lease=LEASE["lease"]) == []


@pytest.mark.parametrize("kind", ["undeclared", "unsafe", "unsafe_marked"])
def test_what_may_not_be_repeated_is_in_doubt_until_the_zombie_settles_it(stage: Stage, kind: str) -> None:
    calls = {form: call(f"{kind}_{form}", form, after="door") for form in FORMS}
    zombies = {form: stopped_at(stage, "door", each) for form, each in calls.items()}
    doubts = stage.run(*calls.values(), settings=LEASE, together=True)
    assert {line["said"] for line in doubts} == {"outcome_unknown"}
    stage.world.open("door")
    values = {}
    for form, zombie in zombies.items():
        told, alerts = come_back(stage, zombie)
        assert told["said"] == "value"
        assert "late" in alerts
        values[form] = told["value"]
        kept = stage.record()[form]
        assert (kept.task.state, kept.task.result) == ("SUCCESS", told["value"])
        (attempt,) = kept.attempts
        late = (attempt.outcome, attempt.late_outcome, attempt.late_result)
        assert late == ("lost", "returned", told["value"])
        assert "late_settled" in kept.verbs
    again = by_request(stage.run(*calls.values(), settings=LEASE))
    assert {form: line["value"] for form, line in again.items()} == values
    assert stage.judge(lease=LEASE["lease"]) == []


@pytest.mark.parametrize("kind", ["undeclared", "unsafe"])
def test_a_zombie_that_fails_without_a_word_about_its_effect_leaves_the_doubt(
    stage: Stage, kind: str
) -> None:
    each = call(f"{kind}_here", "r-1", after="door", raises=1)
    zombie = stopped_at(stage, "door", each)
    stage.run(each, settings=LEASE)
    stage.world.open("door")
    told, alerts = come_back(stage, zombie)
    assert told["said"] == "outcome_unknown"
    assert "late" in alerts
    kept = stage.record()["r-1"]
    assert (kept.task.state, kept.attempts[0].late_outcome) == ("QUARANTINE", "raised")


def test_what_a_person_decided_meanwhile_stands_and_the_zombie_is_evidence(stage: Stage) -> None:
    each = call("unsafe_here", "r-1", after="door")
    zombie = stopped_at(stage, "door", each)
    stage.run(each, settings=LEASE)
    stage.run({"verb": "resolve", "request": "r-1", "happened": True, "result": {"receipt": "by hand"}})
    stage.world.open("door")
    told, alerts = come_back(stage, zombie)
    assert told["value"] == {"receipt": "by hand"}
    assert alerts == ["late"]
    kept = stage.record()["r-1"]
    assert (kept.task.reason, kept.attempts[0].late_outcome) == ("resolved", "returned")
    assert stage.judge(lease=LEASE["lease"]) == []


def stopped_before_it_entered(stage: Stage, each: Row) -> Child:
    """A process that stands still between its claim and the body."""
    zombie = stage.start(each, settings=LEASE, faults=["admit.after_commit=stop"])
    zombie.stands()
    return zombie


def test_a_transaction_that_lost_its_fence_commits_nothing(stage: Stage) -> None:
    calls = {form: call(f"transactional_{form}", form) for form in FORMS}
    zombies = {form: stopped_before_it_entered(stage, each) for form, each in calls.items()}
    taken_over = by_request(stage.run(*calls.values(), settings=LEASE))
    for form, zombie in zombies.items():
        told, _ = come_back(stage, zombie)
        assert told["said"] == taken_over[form]["said"] == "value"
        kept = stage.record()[form]
        assert [attempt.outcome for attempt in kept.attempts] == ["lost", "returned"]
        assert kept.attempts[0].late_outcome != "returned"  # it was never entered
    assert stage.judge(lease=LEASE["lease"]) == []


def test_the_write_lock_is_the_lease_of_a_transaction(stage: Stage) -> None:
    each = call("transactional_here", "r-1", after="door")
    zombie = stopped_at(stage, "door", each)
    second = stage.start(each, settings=LEASE)
    with pytest.raises(AssertionError, match="said nothing"):
        second.hear(4.0)  # beyond the lease: it waits for the lock, and so takes nothing over
    stage.world.open("door")
    told, alerts = come_back(stage, zombie)
    assert (told["said"], alerts) == ("value", [])
    (other,) = [line for line in stage.over(second) if "said" in line]
    assert other["value"] == told["value"]
    assert stage.record()["r-1"].task.attempts == 1
    assert stage.judge(lease=LEASE["lease"]) == []


@pytest.mark.parametrize("kind", ["idempotent", "undeclared", "unsafe"])
def test_a_claim_older_than_its_lease_does_not_enter_the_body(stage: Stage, kind: str) -> None:
    calls = {form: call(f"{kind}_{form}", form) for form in FORMS}
    zombies = {form: stopped_before_it_entered(stage, each) for form, each in calls.items()}
    meanwhile = stage.run(*calls.values(), settings=LEASE)
    assert {line["said"] for line in meanwhile} == {"value" if kind == "idempotent" else "outcome_unknown"}
    for zombie in zombies.values():
        told, _ = come_back(stage, zombie)
        assert told["said"] == "value"
    begun = [(entry["subject"], entry["attempt"]) for entry in stage.world.seen() if entry["kind"] == "begin"]
    assert sorted(begun) == sorted(
        (form, 2) for form in FORMS
    )  # nothing was entered under a claim that was lost
    assert stage.judge(lease=LEASE["lease"]) == []
