"""An attempt that was given up and hung on is closed by the end of its process, whatever became of its task."""

from __future__ import annotations

import pytest

from support.outside import Row
from support.processes import Stage, call

HURRIED = {"timeout": 0.4}


def hung(stage: Stage, kind: str, form: str = "thread", **spec: object) -> Row:
    """A call whose body still stands at a gate when its process ends."""
    each = call(f"{kind}_{form}", "r-1", after="door")
    (told,) = stage.run(each, **HURRIED, **spec)
    stage.world.open("door")  # for whoever comes next
    return {**told, "call": each}


@pytest.mark.parametrize("kind", ["undeclared", "unsafe"])
def test_a_doubt_with_an_open_attempt_may_be_run_again_once_its_process_is_gone(
    stage: Stage, kind: str
) -> None:
    told = hung(stage, kind)
    assert told["said"] == "outcome_unknown"
    (verdict,) = stage.run({"verb": "resolve", "request": "r-1", "happened": False, "rerun": True})
    assert verdict["done"]
    (again,) = stage.run(told["call"])
    assert again["said"] == "value"
    kept = stage.record()["r-1"]
    assert [attempt.closed for attempt in kept.attempts] == [True, True]
    assert "attempt_closed" in kept.verbs
    assert stage.judge(ordered=["r-1"]) == []


@pytest.mark.parametrize("retries", [0, 1])
def test_a_timeout_is_tried_again_by_the_next_process(stage: Stage, retries: int) -> None:
    told = hung(stage, "keyed", policy={"retries": retries, "backoff": 0.01})
    assert told["said"] == ("still_running" if retries else "timeout")
    (again,) = stage.run(told["call"], policy={"retries": retries})
    assert again["said"] == "value"
    assert stage.judge() == []
    assert stage.record()["r-1"].task.attempts == 2


def test_what_was_cancelled_while_an_attempt_hung_may_be_requeued_once_that_is_over(stage: Stage) -> None:
    hanging = stage.start(
        call("idempotent_thread", "r-1", after="door"),
        call("idempotent_thread", "r-2", after="another door"),
        policy={"retries": 1, "backoff": 0.01},
        **HURRIED,
    )
    while (heard := hanging.hear()) is not None and heard.get("request") != "r-1":
        pass
    stage.world.wait_for(kind="at another door")  # it lives, and its first body hangs
    (cancelled,) = stage.run({"verb": "cancel", "request": "r-1"})
    assert (cancelled["done"], cancelled["state"]) == (True, "CANCELLED")
    (refused,) = stage.run({"verb": "requeue", "request": "r-1"})
    assert refused["said"] == "not_allowed"
    stage.kill(hanging)
    (requeued,) = stage.run({"verb": "requeue", "request": "r-1"})
    assert requeued["done"]
    stage.world.open("door", "another door")
    told = stage.run(
        *(call("idempotent_thread", r, after=g) for r, g in (("r-1", "door"), ("r-2", "another door")))
    )
    assert {line["said"] for line in told} == {"value"}
    assert stage.judge() == []
