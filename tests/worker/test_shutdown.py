"""Deploys: what a worker that is told to go does with what it holds."""

from __future__ import annotations

import os
import signal
import threading
import time
from types import SimpleNamespace
from typing import Any

from ax_core import State
from ax_core.ports import Delivery, Job
from ax_core.worker.fetching import Fetching
from ax_core.worker.pace import Pace
from ax_core.worker.slots import Slots
from support.ledger import until


def test_a_second_signal_to_the_whole_group_does_not_abort_what_runs(on_file: Any) -> None:
    """A supervisor passes on what the group has heard already."""
    worker = on_file.worker()
    handle = on_file.ax.submit("unsafe_here", {"subject": "a", "after": "the door"})
    on_file.world.wait_for(kind="at the door")
    for number in (signal.SIGTERM, signal.SIGTERM, signal.SIGINT):
        os.kill(worker.child.pid, number)
    assert until(lambda: "no more is fetched" in worker.said)
    assert worker.child.poll() is None
    on_file.world.open("the door")
    assert worker.wait() == 0
    assert on_file.ax.get(handle).state is State.SUCCESS


def test_what_was_not_begun_starts_elsewhere_at_once(on_file: Any) -> None:
    """One runs for longer than the drain, ten wait: another worker has the ten within seconds."""
    leaving = on_file.worker("--drain", "1", concurrency=1)
    running = on_file.ax.submit("keyed_here", {"subject": "long", "after": "the door"})
    on_file.world.wait_for(kind="at the door")
    waiting = [on_file.ax.submit("unsafe_here", {"subject": f"s{n}"}) for n in range(10)]
    leaving.terminate()
    on_file.worker()
    began = time.monotonic()
    for handle in waiting:
        on_file.ax.wait_for_result(handle, timeout=30)
    assert time.monotonic() - began < 10
    assert leaving.wait() == 0
    on_file.world.open("the door")
    on_file.ax.wait_for_result(running, timeout=60)
    assert len({e["key"] for e in on_file.effects("long")}) == 1
    assert [len(on_file.effects(f"s{n}")) for n in range(10)] == [1] * 10


def test_what_was_fetched_at_the_moment_of_the_end_is_given_back(on_file: Any) -> None:
    """And is not begun: it need not wait until somebody takes it from the dead."""
    stopping, given_back, begun = threading.Event(), [], []
    job = Delivery(Job("t", "default"), 1, "receipt")

    class Ending:
        """A source that hands something out just as the worker is told to go."""

        def fetch(self, limit: int, wait: float) -> list[Delivery]:
            stopping.set()
            return [job]

        def give_back(self, deliveries: list[Delivery]) -> bool:
            given_back.extend(deliveries)
            return True

    core = on_file.ax._core
    bench = SimpleNamespace(lines=None, room=1, begin=lambda jobs: begun.append(jobs))
    slots, upkeep = Slots(1), SimpleNamespace(fetched=0.0)
    Fetching(core, Ending(), bench, slots, Pace(None, core.clock), upkeep).run(stopping)  # type: ignore[arg-type]
    assert (given_back, begun) == ([job], [])


def test_no_task_is_lost_or_doubled_over_many_shutdowns(on_file: Any) -> None:
    """SIGTERM at whatever moment, again and again, while calls keep coming."""
    handles: list[Any] = []
    for n in range(6):
        worker = on_file.worker()
        for m in range(10):
            handles.append(on_file.ax.submit("unsafe_here", {"subject": f"{n}-{m}"}))
            if m == n:
                worker.terminate()
        assert worker.wait() == 0
    on_file.worker()
    for handle in handles:
        on_file.ax.wait_for_result(handle, timeout=60)
    assert [len(on_file.effects(f"{n}-{m}")) for n in range(6) for m in range(10)] == [1] * 60
