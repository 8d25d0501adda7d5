"""A worker is killed at every fault point: what the task comes to is what the outside world saw."""

from __future__ import annotations

from typing import Any

import pytest

from ax_core import OutcomeUnknown, State

BEFORE_THE_CLAIM = ("fetch.after", "claim.before_commit")
IN_DOUBT = ("claim.after_commit", "effect.before", "effect.after", "record.before_commit")
AFTER = ("record.after_commit", "done.before", "done.after")


def left_by(shop: Any, name: str, point: str) -> Any:
    """The handle of a task whose first worker died at a fault point, and who has a healthy one now."""
    doomed = shop.doomed(point)
    handle = shop.ax.submit(name, {"subject": "a"})
    assert doomed.wait() == -9
    shop.worker()
    return handle


@pytest.mark.parametrize("point", BEFORE_THE_CLAIM + IN_DOUBT + AFTER)
def test_a_keyed_tool_acts_exactly_once_for_a_downstream_that_honours_its_key(
    on_file: Any, point: str
) -> None:
    """Wherever its worker dies, another one brings it to its end under the same key."""
    handle = left_by(on_file, "keyed_here", point)
    on_file.ax.wait_for_result(handle, timeout=60)
    effects = on_file.effects("a")
    assert sum(e["new"] for e in effects) == 1
    assert len({e["key"] for e in effects}) == 1
    assert on_file.ax.get(handle).state is State.SUCCESS


@pytest.mark.parametrize("point", BEFORE_THE_CLAIM + AFTER)
def test_an_unsafe_tool_that_was_not_begun_or_is_on_record_loses_nothing(on_file: Any, point: str) -> None:
    handle = left_by(on_file, "unsafe_here", point)
    on_file.ax.wait_for_result(handle, timeout=60)
    assert len(on_file.effects("a")) == 1
    assert on_file.ax.get(handle).attempts == 1


@pytest.mark.parametrize("point", IN_DOUBT)
def test_an_unsafe_tool_that_may_have_acted_is_in_doubt_and_is_never_tried_again(
    on_file: Any, point: str
) -> None:
    handle = left_by(on_file, "unsafe_here", point)
    with pytest.raises(OutcomeUnknown):
        on_file.ax.wait_for_result(handle, timeout=60)
    assert len(on_file.effects("a")) == (point in ("effect.after", "record.before_commit"))


@pytest.mark.parametrize("point", ["effect.before", "record.before_commit"])
def test_a_marked_tool_is_run_again_only_if_it_died_before_its_mark(on_file: Any, point: str) -> None:
    handle = left_by(on_file, "unsafe_marked_here", point)
    if point == "effect.before":
        on_file.ax.wait_for_result(handle, timeout=60)
    else:
        with pytest.raises(OutcomeUnknown):
            on_file.ax.wait_for_result(handle, timeout=60)
    assert len(on_file.effects("a")) == 1


def test_a_tool_that_kills_its_worker_is_given_up_after_a_few_of_them(on_file: Any) -> None:
    """Counted at the claim, before the body: the poison ends as a dead letter, and others keep flowing."""
    handle = on_file.ax.submit("keyed_here", {"subject": "a"})
    for _ in range(5):
        assert on_file.doomed("effect.before").wait() == -9
    on_file.worker()
    on_file.ax.call("keyed_here", {"subject": "b"})
    task = on_file.ax.get(handle)
    assert (task.state, str(task.reason)) == (State.DEAD, "poison")
    assert on_file.effects("a") == []
