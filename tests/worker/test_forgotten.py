"""What a queue that was away, or that lost its memory, never brought: it is sent again, and found by looking."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import Any

from ax_core import Policy
from ax_core.clock import SystemClock
from ax_core.dispatch.hints import Hints
from ax_core.dispatch.post import Post
from ax_core.hooks import Hooks
from ax_core.ports import Job
from ax_core.registry import Registry
from ax_core.threads import Threads
from support.ledger import until


class Queue:
    """Takes nothing while it is away."""

    def __init__(self) -> None:
        self.away, self.got, self.asked = True, [], threading.Event()

    def publish(self, jobs: Iterable[Job], news: Any = ()) -> bool:
        self.asked.set()
        if not self.away:
            self.got += [job.task_id for job in jobs]
        return not self.away

    def announce(self, events: Any) -> bool:
        return not self.away

    def close(self) -> None:
        pass


def posting(queue: Any) -> Post:
    """What sends the jobs of a process to it."""
    threads, clock = Threads(), SystemClock()
    hints = Hints(queue, threads, clock, 30.0)
    return Post(queue, clock.new_id(), (), Registry(), threads, Hooks(threads), lambda task: None, hints)


def test_jobs_are_kept_while_the_queue_is_away_and_go_out_in_their_order() -> None:
    """Nobody has to send anything else for that."""
    queue = Queue()
    post = posting(queue)
    for n in range(600):
        post.send(Job(f"t{n}", "default"))
    assert queue.asked.wait(10)
    queue.away = False
    assert until(lambda: len(queue.got) == 600)
    assert queue.got == [f"t{n}" for n in range(600)]


def test_a_queue_that_stays_away_does_not_keep_a_process_from_closing() -> None:
    queue = Queue()
    post = posting(queue)
    post.send(Job("t", "default"))
    assert queue.asked.wait(10)
    closing = threading.Thread(target=post.close)
    closing.start()
    closing.join(10)
    assert not closing.is_alive()


def test_a_worker_with_few_slots_finds_all_that_the_queue_forgot(on_file: Any) -> None:
    """One look after another, without a pause of seconds between them; also for a tenant it has never heard of."""
    from support.workshop import shop

    with shop(on_file.url, "redis://127.0.0.1:9/0", on_file.world.port) as alone:  # its queue is nowhere
        other = alone.for_namespace("acme")
        handles = [alone.submit("read_here", {"subject": f"s{n}"}) for n in range(40)]
        theirs = other.submit("keyed_here", {"subject": "theirs"})
        on_file.worker(concurrency=2)
        for handle in handles:
            alone.wait_for_result(handle, timeout=15)
        other.wait_for_result(theirs, timeout=15)


def test_tasks_that_this_worker_does_not_know_stand_in_nobody_s_way(on_file: Any) -> None:
    """However many there are: what comes after them is looked at too."""
    from support.workshop import shop

    with shop(on_file.url, "redis://127.0.0.1:9/0", on_file.world.port) as alone:
        for n in range(20):
            alone.submit("keyed_here", {"subject": f"s{n}"})
        handle = alone.submit("read_here", {"subject": "last"})
        on_file.worker(concurrency=2, SHOP_TOOLS="read_here")
        alone.wait_for_result(handle, timeout=30)


def test_a_task_that_a_busy_queue_forgot_is_sent_to_it_again(on_file: Any) -> None:
    """All the slots are taken all the time, others keep coming, and many that nobody knows stand before it."""
    from support.workshop import shop

    over = threading.Event()

    def keep_it_busy() -> None:
        for n in range(1000):
            on_file.ax.call("keyed_here", {"subject": f"s{n}", "dwell": 0.1})
            if over.is_set():
                return

    threads = [threading.Thread(target=keep_it_busy) for _ in range(3)]
    for thread in threads:
        thread.start()
    on_file.worker(concurrency=1)
    try:
        with shop(on_file.url, "redis://127.0.0.1:9/0", on_file.world.port) as alone:
            alone.register(lambda: None, name="theirs", policy=Policy("read", where="worker"))
            for _ in range(700):
                alone.submit("theirs", {})
            handle = alone.submit("read_here", {"subject": "forgotten"})
        on_file.ax.wait_for_result(handle, timeout=30)
    finally:
        over.set()
        for thread in threads:
            thread.join(30)
