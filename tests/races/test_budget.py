"""A budget is reserved in the store: whoever calls from wherever, it is never overdrawn, and never left unused."""

from __future__ import annotations

from support.starting_line import Start

CALLS, TASKS = 25, 10


def test_ten_tasks_are_ten_effects_under_a_hundred_calls_from_four_processes(start: Start) -> None:
    start.line_up(*[{"do": "budget", "tasks": TASKS, "first": n * CALLS, "calls": CALLS} for n in range(4)])
    start.go()
    start.await_ready()  # inside the run
    start.go()
    rows = start.told()
    start.go()
    start.over()
    assert len(rows) == 4 * CALLS
    assert sum("value" in row for row in rows) == TASKS
    assert {row.get("error") for row in rows} == {None, "budget_exceeded"}
    assert len(start.happened()) == TASKS
    with start.ax() as ax:
        assert len(ax.tasks(limit=1000).tasks) == TASKS
        tree = ax.tree(ax.tasks().tasks[0].run_id)
        assert (tree.run.used_tasks, tree.run.state, tree.run.reason) == (TASKS, "DEAD", "budget")
