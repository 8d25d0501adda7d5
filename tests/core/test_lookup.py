"""Looking tools up as they were published, with how long they take."""

from __future__ import annotations

from pathlib import Path

import pytest

from ax_core import AX, UnknownTask
from ax_core.app.lookup import percentiles


@pytest.mark.parametrize(
    "taken, found",
    [
        ([], {}),
        ([7_000_000], {"p50": 7.0, "p95": 7.0, "p99": 7.0}),
        (list(range(1_000_000, 101_000_000, 1_000_000)), {"p50": 50.0, "p95": 95.0, "p99": 99.0}),
        ([3_000_000, 1_000_000, 2_000_000], {"p50": 2.0, "p95": 3.0, "p99": 3.0}),
    ],
)
def test_percentiles_are_of_the_nearest_rank(taken: list[int], found: dict[str, float]) -> None:
    assert percentiles(taken) == found


def test_a_tool_is_seen_as_it_was_registered_last_by_whoever_opens_the_record(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/ax.db"
    with AX(url) as ax:
        ax.register(lambda: None, name="look", policy="read")
        ax.call("look")
        ax.register(lambda: None, name="never_called", policy="unsafe")
        ax.pause("look", by="ann")
    with AX(url) as other:
        look, never = other.seen_tools()
    assert (look.name, look.policy["effect"], look.paused_by) == ("look", "read", "ann")
    assert look.seconds.keys() == {"p50", "p95", "p99"}
    assert (never.name, never.seconds, never.paused) == ("never_called", {}, False)


def test_an_id_is_found_by_a_part_and_says_of_what() -> None:
    with AX("sqlite://") as ax:
        ax.register(lambda: None, name="look", policy="read")
        with ax.run() as run:
            ax.call("look")
        task = ax.tasks().tasks[0]
        found = ax.find(task.id[-8:], of="any")
        assert (found, found.kind) == (task.id, "task")
        found = ax.find(run.id[-8:], of="any")
        assert (found, found.kind) == (run.id, "run")
        with pytest.raises(UnknownTask, match="no task "):
            ax.find(run.id)
        with pytest.raises(UnknownTask, match="no run "):
            ax.find(task.id, of="run")
