"""One idempotency key, however many submit under it: one call is everybody's, and another body is refused."""

from __future__ import annotations

import logging

import pytest

from ax_core import RequestConflict
from support.aside import together
from support.starting_line import Start


def test_fifty_submissions_of_one_key_make_one_task_and_no_noise(
    start: Start, caplog: pytest.LogCaptureFixture
) -> None:
    with start.ax() as ax, caplog.at_level(logging.WARNING):
        handles = together([lambda: ax.submit("act", {"n": 1, "pause": 0.05}, key="K") for _ in range(50)])
        assert len(set(handles)) == 1
        assert sum(handle.merged_into is None for handle in handles) == 1
        assert ax.wait_for_result(handles[0], timeout=20)[0] == 1
        assert len(ax.tasks().tasks) == 1
    assert start.happened() == [1]
    assert caplog.records == []


def test_fifty_calls_of_one_key_in_four_processes(start: Start) -> None:
    start.line_up(*[{"do": "one_key", "key": "K", "bodies": [1] * 13}] * 4)
    start.go()
    rows = start.told()
    start.over()
    assert len(rows) == 52
    assert [row for row in rows if row != rows[0]] == []
    assert start.happened() == [1]


def test_other_arguments_under_the_same_key_are_refused_before_anything_runs(start: Start) -> None:
    """At the same moment, in four processes: one body executes, everyone else with it gets its result."""
    start.line_up(*[{"do": "one_key", "key": "K", "bodies": [10, 99] * 3}] * 4)
    start.go()
    rows = start.told()
    start.over()
    (winner,) = start.happened()
    values = [row["value"][0] for row in rows if "value" in row]
    errors = [row["error"] for row in rows if "error" in row]
    assert values == [winner] * 12
    assert errors == ["request_conflict"] * 12
    with start.ax() as ax:
        assert len(ax.tasks().tasks) == 1


@pytest.mark.parametrize("how", ["key", "request_id"])
def test_other_arguments_one_after_the_other_are_refused_too(start: Start, how: str) -> None:
    with start.ax() as ax:
        first = ax.call("act", {"n": 10}, **{how: "K"})
        with pytest.raises(RequestConflict) as refused:
            ax.call("act", {"n": 99}, **{how: "K"})
        assert refused.value.task_id == ax.tasks().tasks[0].id
        assert ax.call("act", {"n": 10}, **{how: "K"}) == first
        assert len(ax.tasks().tasks) == 1
    assert start.happened() == [10]


@pytest.mark.parametrize("how", ["key", "request_id"])
def test_of_two_bodies_at_once_one_runs_and_the_other_is_told(start: Start, how: str) -> None:
    with start.ax() as ax:
        for round in range(20):
            same = {how: f"K{round}"}
            bodies = (2 * round, 2 * round + 1)
            said = together([lambda n=n, same=same: ax.call("act", {"n": n}, **same) for n in bodies])
            refused = [answer for answer in said if isinstance(answer, RequestConflict)]
            assert len(refused) == 1, said
    happened = start.happened()
    assert len(happened) == 20
    assert [n // 2 for n in happened] == list(range(20))
