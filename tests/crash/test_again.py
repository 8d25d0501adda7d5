"""Killed more than once: during recovery, while taking over, between attempts, and once too often."""

from __future__ import annotations

import pytest
from support.processes import Stage, call

POLICY = {"retries": 2, "backoff": 0.01}
KINDS = ("idempotent", "keyed", "transactional", "undeclared", "unsafe", "unsafe_marked")


@pytest.mark.parametrize("point", ["recover.before_commit", "recover.after_commit"])
def test_killed_while_it_classifies_what_a_killed_process_left(stage: Stage, point: str) -> None:
    calls = [call(f"{kind}_here", kind) for kind in KINDS]
    for each in calls:
        stage.killed(each, faults=["effect.after=kill"])
        stage.killed(each, faults=[f"{point}=kill"])
    told = stage.run(*calls)
    assert stage.judge() == []
    said = {line["request"]: line["said"] for line in told if "said" in line}
    in_doubt = ("undeclared", "unsafe", "unsafe_marked")
    assert said == {kind: "outcome_unknown" if kind in in_doubt else "value" for kind in KINDS}


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
    kept = stage.record()
    second = {point: kept[point].task for point in points}
    if kind == "unsafe_marked":  # the second attempt reached its mark only in the last of them
        assert second.pop("effect.after").reason == "outcome_unknown"
    assert {task.state for task in second.values()} == {"SUCCESS"}
    assert second["admit.before_commit"].attempts == 2  # the claim that was not committed is no attempt
    assert second["effect.before"].attempts == 3


@pytest.mark.parametrize("point", ["claim.before_commit", "claim.after_commit", "effect.before", "effect.after"])
@pytest.mark.parametrize("kind", ["idempotent", "keyed", "transactional", "undeclared", "unsafe"])
def test_a_waiting_caller_is_killed_as_it_takes_over_from_a_killed_one(stage: Stage, kind: str, point: str) -> None:
    each = call(f"{kind}_here", "r-1", before="door")
    first = stage.start(each)
    stage.world.wait_for(kind="at door")
    fault = "claim.before_commit" if kind in ("undeclared", "unsafe") else point
    second = stage.start(each, faults=[f"{fault}=kill"])
    stage.world.open("door") if kind != "transactional" else None
    stage.kill(first)
    stage.world.open("door")
    stage.over(second)
    assert not second.ended or kind not in ("idempotent", "keyed")
    stage.run(each)
    assert stage.judge() == []


@pytest.mark.parametrize("form", ["here", "thread", "loop"])
@pytest.mark.parametrize("kind", ["read", "idempotent", "keyed", "transactional", "unsafe", "unsafe_marked"])
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


@pytest.mark.parametrize("kind", ["read", "idempotent", "keyed", "transactional", "undeclared_marked"])
def test_a_call_that_kills_its_process_every_time_is_given_up_and_blocks_nobody(stage: Stage, kind: str) -> None:
    poison, other = call(f"{kind}_here", "poison"), call(f"{kind}_here", "other")
    for _ in range(5):
        stage.killed(poison, faults=["effect.before=kill"])
    told = stage.run(poison, other)
    assert {line["request"]: line["said"] for line in told if "said" in line} == {"poison": "dead", "other": "value"}
    kept = stage.record()["poison"]
    assert (kept.task.state, kept.task.reason, kept.task.attempts) == ("DEAD", "poison", 5)
    assert stage.judge() == []
