"""Who runs what, and who waits: nobody hoards, nobody starves."""

from __future__ import annotations

from collections import Counter
from typing import Any

from ax_core import State


def test_long_tasks_are_spread_over_the_workers(on_file: Any) -> None:
    """No worker holds more than it has slots for, so none idles while another has a heap."""
    workers = [on_file.worker(concurrency=1) for _ in range(3)]
    handles = [on_file.ax.submit("read_here", {"subject": f"s{n}", "dwell": 0.15}) for n in range(18)]
    for handle in handles:
        on_file.ax.wait_for_result(handle, timeout=60)
    ran = Counter(e["pid"] for e in on_file.world.seen() if e["kind"] == "begin")
    assert set(ran) == {w.child.pid for w in workers}
    assert min(ran.values()) >= 3, ran


def test_a_task_that_fails_again_and_again_lets_the_others_pass(on_file: Any) -> None:
    """Its next attempt stands at the end, once it is due."""
    ax = on_file.ax
    bad = ax.submit("keyed_here", {"subject": "bad", "raises": 99})
    fresh = [ax.submit("read_here", {"subject": f"s{n}"}) for n in range(30)]
    on_file.worker(concurrency=1)
    for handle in fresh:
        ax.wait_for_result(handle, timeout=60)
    on_file.world.wait_for(2, kind="begin", subject="bad")
    began = [e["subject"] for e in on_file.world.seen() if e["kind"] == "begin"]
    assert began[0] == "bad"
    assert began[1:31] == [f"s{n}" for n in range(30)]
    assert ax.get(bad).attempts > 1


def test_who_waits_comes_before_who_does_not(on_file: Any) -> None:
    """A call that somebody waits for passes what was submitted before it."""
    on_file.ax.submit("read_here", {"subject": "first", "after": "the door"})
    later = [on_file.ax.submit("read_here", {"subject": f"s{n}", "dwell": 0.05}) for n in range(20)]
    on_file.worker(concurrency=1)
    on_file.world.wait_for(kind="at the door")
    on_file.world.open("the door")
    on_file.ax.call("read_here", {"subject": "urgent"})
    assert sum(on_file.ax.get(h).state is State.SUCCESS for h in later) < 20
