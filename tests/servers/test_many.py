"""Many processes with neighbouring keys at once: whatever the server makes them wait for, no caller hears of it."""

from __future__ import annotations

import pytest

from support.starting_line import Start

PROCESSES, EACH = 4, 50


@pytest.mark.slow
def test_two_hundred_first_submissions_with_neighbouring_keys(start: Start) -> None:
    start.line_up(*[{"do": "many", "first": n * EACH, "count": EACH, "threads": 3} for n in range(PROCESSES)])
    start.go()
    rows = start.told()
    start.over()  # and nobody logged a complaint
    assert [row for row in rows if "error" in row] == []
    assert start.happened() == list(range(PROCESSES * EACH))
    with start.ax() as ax:
        tasks = ax.tasks(limit=1000).tasks
        assert sorted(task.payload["n"] for task in tasks) == list(range(PROCESSES * EACH))
        assert {(task.state, task.attempts) for task in tasks} == {("SUCCESS", 1)}
        assert [ax.verify(task.id) for task in tasks] == [None] * len(tasks)
