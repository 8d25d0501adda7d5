"""An operator's process is killed while it decides: it decided or it did not, and the next to ask is told which."""

from __future__ import annotations

import pytest

from support.oracle import RESTING
from support.outside import Row
from support.processes import Stage, call

BEFORE, AFTER = "control.before_commit", "control.after_commit"
COMMITTED = pytest.mark.parametrize("point", [BEFORE, AFTER])
ASKED = {"confirm": True}


def verb(name: str, request: str, **more: object) -> Row:
    return {"verb": name, "request": request, **more}


def decided_twice(stage: Stage, point: str, decision: Row) -> Row:
    """Killed at a point of a verb, then the same verb again from another process: what that one was told."""
    stage.killed(decision, faults=[f"{point}=kill"])
    (told,) = stage.run(decision)
    assert told["done"] is (point == BEFORE)
    return told


def said(lines: list[Row]) -> dict[str, str]:
    return {line["request"]: line["said"] for line in lines}


@COMMITTED
@pytest.mark.parametrize("form", ["here", "loop"])
def test_killed_while_confirming(stage: Stage, form: str, point: str) -> None:
    kinds = ("keyed", "transactional", "undeclared", "unsafe")
    calls = [call(f"{kind}_{form}", kind) for kind in kinds]
    assert said(stage.run(*calls, policy=ASKED)) == dict.fromkeys(kinds, "confirmation_pending")
    for kind in kinds:
        told = decided_twice(stage, point, verb("confirm", kind))
        assert told["state"] == "QUEUED"
        assert "approved by ops" in told["message"]
    for _ in range(2):
        assert said(stage.run(*calls, policy=ASKED)) == dict.fromkeys(kinds, "value")
    assert stage.judge() == []
    assert {kept.task.attempts for kept in stage.record().values()} == {1}


@pytest.mark.parametrize("kind", ["keyed", "transactional", "unsafe", "unsafe_marked"])
def test_an_approval_outlives_the_process_that_was_to_use_it(stage: Stage, kind: str) -> None:
    points = ("admit.before_commit", "admit.after_commit", "effect.before", "effect.after")
    calls = [call(f"{kind}_here", point) for point in points]
    stage.run(*calls, policy=ASKED)
    stage.run(*(verb("confirm", point) for point in points))
    for point, each in zip(points, calls, strict=True):
        stage.killed(each, faults=[f"{point}=kill"], policy=ASKED)
    told = said(stage.run(*calls, policy=ASKED))
    assert stage.judge() == []
    in_doubt = {"unsafe": points[1:], "unsafe_marked": points[3:]}.get(kind, ())
    assert told == {point: "outcome_unknown" if point in in_doubt else "value" for point in points}


@COMMITTED
@pytest.mark.parametrize("name", ["reject", "cancel"])
def test_killed_while_refusing(stage: Stage, name: str, point: str) -> None:
    each = call("unsafe_here", "r-1")
    stage.run(each, policy=ASKED)
    decided_twice(stage, point, verb(name, "r-1"))
    assert said(stage.run(each, policy=ASKED)) == {"r-1": "rejected" if name == "reject" else "cancelled"}
    assert stage.judge() == []
    assert stage.world.seen() == []


@COMMITTED
def test_killed_while_resolving_that_it_happened(stage: Stage, point: str) -> None:
    calls = [
        call(f"{kind}_here", f"{kind} {where}")
        for kind, where in (
            ("undeclared", "effect.after"),
            ("unsafe", "effect.before"),
            ("unsafe", "effect.after"),
            ("unsafe_marked", "mark.after_commit"),
        )
    ]
    for each in calls:
        stage.killed(each, faults=[f"{each['request'].split()[1]}=kill"])
        by_hand = verb("resolve", each["request"], happened=True, result={"receipt": "by hand"})
        decided_twice(stage, point, by_hand)
    assert [line["value"] for line in stage.run(*calls)] == [{"receipt": "by hand"}] * len(calls)
    assert stage.judge() == []


@COMMITTED
@pytest.mark.parametrize("rerun", [True, False])
def test_killed_while_resolving_that_it_did_not_happen(stage: Stage, rerun: bool, point: str) -> None:
    each = call("unsafe_here", "r-1")
    stage.killed(each, faults=["effect.before=kill"])
    decided_twice(stage, point, verb("resolve", "r-1", happened=False, rerun=rerun))
    assert stage.judge(allowed=(*RESTING, "QUEUED")) == []
    # Whether by the rerun or by the caller's own resubmission: it runs now, once.
    for _ in range(2):
        assert said(stage.run(each)) == {"r-1": "value"}
    assert len([entry for entry in stage.world.seen() if entry["kind"] == "unsafe"]) == 1
    assert stage.judge(ordered=["r-1"]) == []


@COMMITTED
def test_killed_while_cancelling_what_runs_elsewhere(stage: Stage, point: str) -> None:
    runs = stage.start(call("unsafe_here", "r-1", after="door"))
    stage.world.wait_for(kind="at door")
    assert decided_twice(stage, point, verb("cancel", "r-1"))["state"] == "RUNNING"
    stage.world.open("door")
    # The tool did not look, so it ran to its end: that is what is recorded, and told.
    assert {line["said"] for line in stage.over(runs) if "said" in line} == {"value"}
    assert stage.record()["r-1"].task.cancel_requested
    assert stage.judge() == []


@COMMITTED
def test_killed_while_requeuing(stage: Stage, point: str) -> None:
    each = call("unsafe_here", "r-1", raises=1)
    (told,) = stage.run(each)
    assert (told["said"], told["maybe_applied"]) == ("failed", True)
    assert decided_twice(stage, point, verb("requeue", "r-1"))["state"] == "QUEUED"
    assert said(stage.run(each)) == {"r-1": "value"}
    assert stage.judge(ordered=["r-1"]) == []
    assert stage.record()["r-1"].task.attempts == 2
