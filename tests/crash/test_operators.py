"""An operator's process is killed while it decides: it decided or it did not, and the next to ask is told which."""

from __future__ import annotations

from typing import Any

import pytest
from support.oracle import RESTING
from support.processes import Stage, call

BEFORE, AFTER = "control.before_commit", "control.after_commit"
COMMITTED = pytest.mark.parametrize("point", [BEFORE, AFTER])
ASKED = {"confirm": True}


def verb(name: str, request: str, **more: Any) -> dict[str, Any]:
    return {"verb": name, "request": request, **more}


def decided_twice(stage: Stage, point: str, **decision: Any) -> dict[str, Any]:
    """Killed at a point of a verb, then the same verb again from another process: what that one was told."""
    assert stage.killed(decision, faults=[f"{point}=kill"]) == []
    (told,) = stage.run(decision)
    assert told["done"] is (point == BEFORE)
    return told


def said(lines: list[dict[str, Any]]) -> list[str]:
    return [line["said"] for line in lines if "said" in line]


@COMMITTED
@pytest.mark.parametrize("form", ["here", "loop"])
@pytest.mark.parametrize("kind", ["idempotent", "keyed", "transactional", "undeclared", "unsafe"])
def test_killed_while_confirming(stage: Stage, kind: str, form: str, point: str) -> None:
    each = call(f"{kind}_{form}", "r-1")
    assert said(stage.run(each, policy=ASKED)) == ["confirmation_pending"]
    told = decided_twice(stage, point, **verb("confirm", "r-1"))
    assert told["state"] == "QUEUED"
    if point == AFTER:
        assert "approved by ops" in told["message"]
    assert said(stage.run(each, policy=ASKED)) == ["value"]
    assert said(stage.run(each, policy=ASKED)) == ["value"]
    assert stage.judge() == []
    assert stage.record()["r-1"].task.attempts == 1


@pytest.mark.parametrize("point", ["admit.before_commit", "admit.after_commit", "effect.before", "effect.after"])
@pytest.mark.parametrize("kind", ["keyed", "transactional", "unsafe", "unsafe_marked"])
def test_an_approval_outlives_the_process_that_was_to_use_it(stage: Stage, kind: str, point: str) -> None:
    each = call(f"{kind}_here", "r-1")
    stage.run(each, policy=ASKED)
    stage.run(verb("confirm", "r-1"))
    stage.killed(each, faults=[f"{point}=kill"], policy=ASKED)
    told = stage.run(each, policy=ASKED)
    assert stage.judge() == []
    in_doubt = {
        "unsafe": ("admit.after_commit", "effect.before", "effect.after"),
        "unsafe_marked": ("effect.after",),
    }
    assert said(told) == ["outcome_unknown" if point in in_doubt.get(kind, ()) else "value"]


@COMMITTED
@pytest.mark.parametrize("name", ["reject", "cancel"])
def test_killed_while_refusing(stage: Stage, name: str, point: str) -> None:
    each = call("unsafe_here", "r-1")
    stage.run(each, policy=ASKED)
    decided_twice(stage, point, **verb(name, "r-1"))
    assert said(stage.run(each, policy=ASKED)) == ["rejected" if name == "reject" else "cancelled"]
    assert stage.judge() == []
    assert not [entry for entry in stage.world.seen() if entry["kind"] == "unsafe"]


@COMMITTED
@pytest.mark.parametrize("where", ["effect.before", "effect.after"])
@pytest.mark.parametrize("kind", ["undeclared", "unsafe", "unsafe_marked"])
def test_killed_while_resolving_that_it_happened(stage: Stage, kind: str, where: str, point: str) -> None:
    where = "mark.after_commit" if (kind, where) == ("unsafe_marked", "effect.before") else where
    each = call(f"{kind}_here", "r-1")
    stage.killed(each, faults=[f"{where}=kill"])
    decided_twice(stage, point, **verb("resolve", "r-1", happened=True, result={"receipt": "by hand"}))
    (told,) = [line for line in stage.run(each) if "said" in line]
    assert told["value"] == {"receipt": "by hand"}
    assert stage.judge() == []


@COMMITTED
@pytest.mark.parametrize("rerun", [True, False])
def test_killed_while_resolving_that_it_did_not_happen(stage: Stage, rerun: bool, point: str) -> None:
    each = call("unsafe_here", "r-1")
    stage.killed(each, faults=["effect.before=kill"])
    decision = verb("resolve", "r-1", happened=False, rerun=rerun)
    if rerun and point == AFTER:
        assert stage.killed(decision, faults=[f"{point}=kill"]) == []
        assert stage.record()["r-1"].task.state == "QUEUED"
    else:
        decided_twice(stage, point, **decision)
        assert stage.judge(allowed=(*RESTING, "QUEUED")) == []
    # Whether by the rerun or by the caller's own resubmission: it runs now, once.
    assert said(stage.run(each)) == ["value"]
    assert said(stage.run(each)) == ["value"]
    assert len([entry for entry in stage.world.seen() if entry["kind"] == "unsafe"]) == 1
    assert stage.judge(ordered=["r-1"]) == []


@COMMITTED
def test_killed_while_cancelling_what_runs_elsewhere(stage: Stage, point: str) -> None:
    each = call("unsafe_here", "r-1", after="door")
    runs = stage.start(each)
    stage.world.wait_for(kind="at door")
    told = decided_twice(stage, point, **verb("cancel", "r-1"))
    assert told["state"] == "RUNNING"
    stage.world.open("door")
    # The tool did not look, so it ran to its end: that is what is recorded, and told.
    assert said(stage.over(runs)) == ["value"]
    assert stage.record()["r-1"].task.cancel_requested
    assert stage.judge() == []


@COMMITTED
def test_killed_while_requeuing(stage: Stage, point: str) -> None:
    each = call("unsafe_here", "r-1", raises=1)
    (told,) = [line for line in stage.run(each) if "said" in line]
    assert (told["said"], told["maybe_applied"]) == ("failed", True)
    told = decided_twice(stage, point, **verb("requeue", "r-1"))
    assert told["state"] == "QUEUED"
    assert said(stage.run(each)) == ["value"]
    assert stage.judge(ordered=["r-1"]) == []
    assert stage.record()["r-1"].task.attempts == 2
