"""The oracle can go red: each way of breaking AX on purpose is noticed, and the same story unbroken is not."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from support.processes import Stage, call

Story = Callable[[Stage, list[str]], None]


def killed_after(point: str, tool: str) -> Story:
    """Killed at a point, resumed by another process."""

    def story(stage: Stage, sabotage: list[str]) -> None:
        each = call(tool, "r-1")
        stage.killed(each, faults=[f"{point}=kill"], sabotage=sabotage)
        stage.run(each, sabotage=sabotage, settings={"wait": 1.0})

    return story


def called_twice_at_once(stage: Stage, sabotage: list[str]) -> None:
    """A second process comes with the same request while the first is in the body."""
    each = call("idempotent_here", "r-1", after="door")
    first = stage.start(each)
    stage.world.wait_for(kind="at door")
    second = stage.start(each, sabotage=sabotage, settings={"wait": 1.0})
    if sabotage:
        stage.world.wait_for(2, kind="at door")
    stage.world.open("door")
    stage.over(first)
    stage.over(second)


STORIES: dict[str, tuple[Story, str]] = {
    "requeue what is in doubt": (killed_after("effect.after", "unsafe_here"), "2 effects"),
    "doubt everything": (killed_after("effect.after", "idempotent_loop"), "though a repeat is harmless"),
    "claim without commit": (killed_after("effect.after", "undeclared_loop"), "that is not on record"),
    "everybody is gone": (called_twice_at_once, "entered the body while attempt 1 was in it"),
    "nobody is gone": (killed_after("effect.before", "idempotent_here"), "it was left RUNNING"),
    "fresh keys": (killed_after("effect.after", "keyed_here"), "different keys"),
    "success untouched": (killed_after("admit.before_commit", "unsafe_here"), "and the world saw nothing"),
    "no trail": (killed_after("effect.after", "keyed_thread"), "audit trail breaks"),
    "commit apart": (killed_after("effect.after_commit", "transactional_here"), "2 effects"),
    "fairy tales": (killed_after("effect.after", "unsafe_thread"), "somebody was told a value"),
}


@pytest.mark.parametrize("broken", STORIES)
def test_the_oracle_sees_what_was_broken(stage: Stage, broken: str) -> None:
    story, complaint = STORIES[broken]
    story(stage, [broken])
    assert complaint in "\n".join(stage.judge())


@pytest.mark.parametrize("broken", STORIES)
def test_the_same_story_unbroken_is_clean(stage: Stage, broken: str) -> None:
    STORIES[broken][0](stage, [])
    assert stage.judge() == []
