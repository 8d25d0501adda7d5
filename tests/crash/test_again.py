"""Killed more than once: during recovery, while taking over, between attempts, and once too often."""

from __future__ import annotations

import pytest

from support.processes import Stage, call

POLICY = {"retries": 2, "backoff": 0.01}
IN_DOUBT = ("undeclared", "unsafe", "unsafe_marked")
KINDS = ("idempotent", "keyed", "transactional", *IN_DOUBT)


@pytest.mark.parametrize("point", ["recover.before_commit", "recover.after_commit"])
def test_killed_while_it_classifies_what_a_killed_process_left(stage: Stage, point: str) -> None:
    calls = [call(f"{kind}_here", kind) for kind in KINDS]
    for each in calls:
        stage.killed(each, faults=["effect.after=kill"])
        stage.killed(each, faults=[f"{point}=kill"])
    told = {line["request"]: line["said"] for line in stage.run(*calls)}
    assert stage.judge() == []
    assert told == {kind: "outcome_unknown" if kind in IN_DOUBT else "value" for kind in KINDS}


@pytest.mark.parametrize("form", ["here", "loop"])
@pytest.mark.parametrize("kind", ["idempotent", "keyed", "transactional", "unsafe_marked"])
def test_killed_again_in_the_attempt_that_follows_a_kill(stage: Stage, kind: str, form: str) -> None:
    points = ("admit.before_commit", "admit.after_commit", "effect.before", "effect.after")
    first = "effect.before" if kind == "unsafe_marked" else "effect.after"
    calls = {point: call(f"{kind}_{form}", point) for point in points}
    for point, each in calls.items():
        stage.killed(each, faults=[f"{first}=kill"])
        stage.killed(each, faults=[f"{point}=kill"])
    stage.run(*calls.values())
    assert stage.judge() == []
    second = {point: kept.task for point, kept in stage.record().items()}
    if kind == "unsafe_marked":  # the second attempt reached its mark only in the last of them
        assert second.pop("effect.after").reason == "outcome_unknown"
    assert {task.state for task in second.values()} == {"SUCCESS"}
    assert second["admit.before_commit"].attempts == 2  # a claim that was not committed is no attempt
    assert second["effect.before"].attempts == 3


@pytest.mark.parametrize("kind", KINDS)
def test_a_waiting_caller_takes_over_from_a_killed_one_and_is_killed_itself(stage: Stage, kind: str) -> None:
    points, calls = ["claim.before_commit", "claim.after_commit"], []
    for point in points if kind in IN_DOUBT else [*points, "effect.before", "effect.after"]:
        each = call(f"{kind}_here", f"{kind} {point}", after="" if kind == "transactional" else "door")
        calls.append(each)
        # A transaction would keep the second out, so that one is stopped before it begins.
        first = stage.start(each, faults=["admit.after_commit=stop"] if kind == "transactional" else [])
        if kind == "transactional":
            first.stands()
        else:
            stage.world.wait_for(kind="at door", subject=each["request"])
        second = stage.start(each, faults=[f"{point}=kill"], tells=["admit.after_commit"])
        assert second.hear() == {"reached": "admit.after_commit"}  # it waits for the first
        stage.kill(first)
        stage.over(second)
        assert not second.ended
    stage.world.open("door")
    told = stage.run(*calls)
    assert stage.judge() == []
    assert {line["said"] for line in told} == {"outcome_unknown" if kind in IN_DOUBT else "value"}


@pytest.mark.parametrize("form", ["here", "thread", "loop"])
@pytest.mark.parametrize("kind", ["read", "keyed", "transactional", "unsafe", "unsafe_marked"])
def test_killed_between_an_attempt_that_refused_and_the_next(stage: Stage, kind: str, form: str) -> None:
    points = (
        "record.before_commit",
        "record.after_commit",
        "claim.before_commit",
        "claim.after_commit",
        "body.before:2",
        "effect.before",
    )
    calls = {point: call(f"{kind}_{form}", point, refuses=1) for point in points}
    for point, each in calls.items():
        stage.killed(each, faults=[f"{point}=kill"], policy=POLICY)
    stage.run(*calls.values(), policy=POLICY)
    assert stage.judge() == []
    kept = stage.record()
    if kind == "unsafe":  # claimed is as good as acted, for a tool that does not mark its effect
        for point in (points[0], *points[3:]):
            assert kept.pop(point).task.reason == "outcome_unknown"
    assert {each.task.state for each in kept.values()} == {"SUCCESS"}


@pytest.mark.parametrize("kind", ["keyed", "transactional", "undeclared_marked"])
def test_a_call_that_kills_its_process_every_time_is_given_up_and_blocks_nobody(
    stage: Stage, kind: str
) -> None:
    poison, other = call(f"{kind}_here", "poison"), call(f"{kind}_here", "other")
    for _ in range(5):
        stage.killed(poison, faults=["effect.before=kill"])
    told = stage.run(poison, other)
    assert {line["request"]: line["said"] for line in told} == {"poison": "dead", "other": "value"}
    task = stage.record()["poison"].task
    assert (task.state, task.reason, task.attempts) == ("DEAD", "poison", 5)
    assert stage.judge() == []
