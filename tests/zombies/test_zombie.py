"""A process that stood still beyond its lease comes back: its result is refused, kept as evidence, and told."""

from __future__ import annotations

import pytest

from support.children import Child
from support.outside import Row
from support.processes import Stage, call

LEASE = {"lease": 3.0, "heartbeat": 1.0}
FORMS = pytest.mark.parametrize("form", ["here", "thread", "loop"])


def stopped_at(stage: Stage, gate: str, each: Row) -> Child:
    """A process that stands still at a gate inside the body."""
    zombie = stage.start(each, settings=LEASE)
    stage.world.wait_for(kind=f"at {gate}", pid=zombie.pid)
    zombie.stop()
    stage.world.note("stopped", pid=zombie.pid)
    return zombie


def come_back(stage: Stage, zombie: Child) -> tuple[Row, list[str]]:
    """It goes on; what its caller is told, and which alerts it raises."""
    zombie.go_on()
    heard = stage.over(zombie)
    assert zombie.ended, zombie.complaint()
    (told,) = [line for line in heard if "said" in line]
    return told, [line["alert"] for line in heard if "alert" in line]


@FORMS
@pytest.mark.parametrize("kind", ["idempotent", "keyed", "undeclared_marked"])
def test_what_may_be_repeated_is_taken_over_and_the_zombie_is_told_the_result_on_record(
    stage: Stage, kind: str, form: str
) -> None:
    gate = "before" if kind.endswith("_marked") else "after"
    each = call(f"{kind}_{form}", "r-1", **{gate: "door"})
    zombie = stopped_at(stage, "door", each)
    stage.world.open("door")
    (taken_over,) = stage.run(each, settings=LEASE)
    told, alerts = come_back(stage, zombie)
    assert told["said"] == taken_over["said"] == "value", (told, taken_over)
    assert told["value"] == taken_over["value"]
    assert alerts == ["late"]
    kept = stage.record()["r-1"]
    first, second = kept.attempts
    assert (first.outcome, second.outcome) == ("lost", "returned")
    # A marked tool was stopped at the mark, which is refused to it; the others had acted already, and a coroutine
    # that is no longer the task's is cut off.
    assert first.late_outcome in (("stopped",) if kind.endswith("_marked") else ("returned", "stopped"))
    assert first.late_outcome == "returned" or kind.endswith("_marked") or form == "loop"
    assert "late_evidence" in kept.verbs
    assert stage.judge() == []


@FORMS
@pytest.mark.parametrize("kind", ["undeclared", "unsafe", "unsafe_marked"])
def test_what_may_not_be_repeated_is_in_doubt_until_the_zombie_settles_it(
    stage: Stage, kind: str, form: str
) -> None:
    each = call(f"{kind}_{form}", "r-1", after="door")
    zombie = stopped_at(stage, "door", each)
    (doubt,) = stage.run(each, settings=LEASE)
    assert doubt["said"] == "outcome_unknown"
    stage.world.open("door")
    told, alerts = come_back(stage, zombie)
    assert told["said"] == "value"
    assert "late" in alerts
    kept = stage.record()["r-1"]
    assert (kept.task.state, kept.task.result) == ("SUCCESS", told["value"])
    (attempt,) = kept.attempts
    assert (attempt.outcome, attempt.late_outcome, attempt.late_result) == ("lost", "returned", told["value"])
    assert "late_settled" in kept.verbs
    (again,) = stage.run(each, settings=LEASE)
    assert again["value"] == told["value"]
    assert stage.judge() == []


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
    assert stage.judge() == []


@pytest.mark.parametrize("form", ["here", "thread", "loop"])
def test_a_transaction_that_lost_its_fence_commits_nothing(stage: Stage, form: str) -> None:
    each = call(f"transactional_{form}", "r-1")
    zombie = stage.start(each, settings=LEASE, faults=["admit.after_commit=stop"])
    zombie.stands()
    stage.world.note("stopped", pid=zombie.pid)
    (taken_over,) = stage.run(each, settings=LEASE)
    told, _ = come_back(stage, zombie)
    assert told["said"] == taken_over["said"] == "value", (told, taken_over)
    kept = stage.record()["r-1"]
    assert [attempt.outcome for attempt in kept.attempts] == ["lost", "returned"]
    assert kept.attempts[0].late_outcome != "returned"  # it was rolled back, or never entered
    assert stage.judge() == []


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
    assert stage.judge() == []


@FORMS
@pytest.mark.parametrize("kind", ["idempotent", "undeclared", "unsafe"])
def test_a_claim_older_than_its_lease_does_not_enter_the_body(stage: Stage, kind: str, form: str) -> None:
    each = call(f"{kind}_{form}", "r-1")
    zombie = stage.start(each, settings=LEASE, faults=["admit.after_commit=stop"])
    zombie.stands()
    stage.world.note("stopped", pid=zombie.pid)
    (meanwhile,) = stage.run(each, settings=LEASE)
    assert meanwhile["said"] == ("value" if kind == "idempotent" else "outcome_unknown")
    told, _ = come_back(stage, zombie)
    assert told["said"] == "value"
    begun = [entry["attempt"] for entry in stage.world.seen() if entry["kind"] == "begin"]
    assert begun == [2]  # nothing was entered under the lost claim
    assert stage.judge() == []
