"""Killed at any point, resumed by another process: no effect twice, none unknown in silence."""

from __future__ import annotations

import pytest

from support.agent_tools import FORMS, KINDS
from support.processes import Stage, call

EVERYWHERE = (
    "admit.before_commit",
    "admit.after_commit",
    "body.before",
    "effect.before",
    "effect.after",
    "body.after",
    "record.before_commit",
    "record.after_commit",
)
MARKED = ("mark.before_commit", "mark.after_commit")
TRANSACTED = ("effect.before_commit", "effect.after_commit")
REPEATABLE = ("read", "idempotent", "keyed", "transactional")
NOTHING_YET = ("admit.before_commit",)
DONE = ("record.after_commit", "effect.after_commit")


def points_of(kind: str) -> tuple[str, ...]:
    """Every fault point on the way of a call."""
    if kind == "transactional":  # its record commits with its effect, under that name
        return (*EVERYWHERE[:6], *TRANSACTED)
    return EVERYWHERE + MARKED if kind.endswith("_marked") else EVERYWHERE


def before_the_mark(point: str) -> bool:
    return EVERYWHERE.index(point) < 4 if point in EVERYWHERE else point == "mark.before_commit"


def ending(kind: str, point: str) -> str:
    """What the same request comes to, after its process was killed at a point."""
    if kind in REPEATABLE or point in NOTHING_YET or point in DONE:
        return "value"
    if kind.endswith("_marked") and before_the_mark(point):
        return "value"
    return "outcome_unknown"


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kind", KINDS)
def test_killed_at_every_point_and_resumed(stage: Stage, kind: str, form: str) -> None:
    calls = {point: call(f"{kind}_{form}", f"{kind} {point}") for point in points_of(kind)}
    for point, each in calls.items():
        stage.killed(each, faults=[f"{point}=kill"])
    told = stage.run(*calls.values())
    assert stage.judge() == []
    said = {line["request"]: line["said"] for line in told}
    assert said == {each["request"]: ending(kind, point) for point, each in calls.items()}
    # What was answered once is answered so again, and nothing more happens.
    effects = [entry for entry in stage.world.seen() if entry["kind"] in ("unsafe", "keyed", "idempotent")]
    again = stage.run(*calls.values())
    assert {line["request"]: line["said"] for line in again} == said
    assert [e for e in stage.world.seen() if e["kind"] in ("unsafe", "keyed", "idempotent")] == effects
    assert stage.judge() == []
