"""Many jobs on few threads, and none waits for another."""

from __future__ import annotations

import threading
from collections.abc import Callable

from ax_core.threads import Threads
from ax_core.worker.relay import Relay
from support.ledger import until

PATIENCE = 20.0


class Called(Threads):
    """Threads that come when the test lets them.

    Attributes:
        coming: what was called.
        none: no thread is to be had.
    """

    def __init__(self) -> None:
        super().__init__()
        self.coming: list[Callable[[], None]] = []
        self.none = False

    def spawn(self, job: Callable[[], None]) -> None:
        if self.none:
            raise RuntimeError("can't start new thread")
        self.coming.append(job)


def test_a_job_that_blocks_keeps_no_other_waiting() -> None:
    """All of them run at the same time, however many."""
    meet = threading.Barrier(12)
    met: list[int] = []
    relay = Relay(Threads())
    relay.add(*[lambda: met.append(meet.wait(PATIENCE))] * 9)
    for _ in range(3):
        relay.add(lambda: met.append(meet.wait(PATIENCE)))
    assert until(lambda: sorted(met) == list(range(12)))


def test_jobs_that_are_soon_over_share_a_thread() -> None:
    """Only one more is called, which finds nothing left to do."""
    threads, done = Called(), list[int]()
    relay = Relay(threads)
    relay.add(*[lambda n=n: done.append(n) for n in range(50)])
    relay.add(lambda: done.append(50))
    assert len(threads.coming) == 1
    threads.coming[0]()
    assert done == list(range(51))
    assert len(threads.coming) == 2
    threads.coming[1]()
    assert len(threads.coming) == 2


def test_a_job_that_comes_while_another_is_under_way_gets_a_thread() -> None:
    """The one that runs may take long."""
    threads, done = Called(), list[str]()
    relay = Relay(threads)
    relay.add(lambda: (relay.add(lambda: done.append("second")), done.append("first")))  # type: ignore[arg-type]
    threads.coming.pop()()
    assert done == ["first", "second"]
    assert len(threads.coming) == 1


def test_where_no_thread_is_to_be_had_those_that_run_take_what_comes() -> None:
    threads, done = Called(), list[str]()
    relay = Relay(threads)

    def first() -> None:
        threads.none = True
        relay.add(lambda: done.append("second"))

    relay.add(first)
    threads.coming.pop()()
    assert done == ["second"]
    relay.add(lambda: done.append("third"))
    assert done == ["second"]
    threads.none = False
    relay.add(lambda: done.append("fourth"))
    threads.coming.pop()()
    assert done == ["second", "third", "fourth"]
