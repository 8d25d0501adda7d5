"""The part of the contract about jobs that a worker holds: done, given back, kept, or lost with it."""

from __future__ import annotations

import threading
import time

from ...ports import URGENT, Delivery, Source
from .bench import Bench, Fixtures, eventually, ids, jobs, take

IDLE = 0.3


class Holding(Fixtures):
    """From a fetch to the end, or to the next worker."""

    def test_what_is_done_is_off_the_queue(self, bench: Bench) -> None:
        """It is not reclaimed, and leaves nothing behind."""
        transport, source = bench.transport(), bench.source()
        transport.publish(jobs("a", "b"))
        found = take(source, 2)
        health = transport.health()
        assert (health.ok, health.waiting["default"], health.fetched["default"]) == (True, 0, 2)
        assert source.done(found)
        assert source.done(found)
        assert source.reclaim(0, 10) == []
        assert transport.health().fetched["default"] == 0

    def test_what_was_not_begun_goes_to_others_at_once(self, bench: Bench) -> None:
        """A worker that is told to stop gives back what it had taken."""
        bench.transport().publish(jobs("a", "b"))
        one, other = bench.source(), bench.source()
        assert one.give_back(take(one, 2))
        one.close()
        assert sorted(ids(take(other, 2, seconds=2))) == ["a", "b"]

    def test_a_killed_worker_s_job_is_handed_out_again(self, bench: Bench) -> None:
        """kill -9 after the fetch; the next one sees that it is not the first."""
        bench.transport().publish(jobs("task"))
        worker, source = bench.worker(), bench.source()
        assert worker.ask("fetch", limit=1, wait=5) == ["task"]
        worker.kill()
        assert source.fetch(1, 0.1) == []
        (again,) = eventually(lambda: source.reclaim(IDLE, 10))
        assert (again.job.task_id, again.times) == ("task", 2)
        assert source.done([again])
        assert source.reclaim(0, 10) == []

    def test_a_job_that_is_still_worked_on_is_not_reclaimed(self, bench: Bench) -> None:
        """However long it takes, as long as its worker says so."""
        bench.transport().publish(jobs("long", "lost"))
        one, other = bench.source(), bench.source()
        long, lost = sorted(take(one, 2), key=lambda d: d.job.task_id)
        until = time.monotonic() + 4 * IDLE
        found: list[Delivery] = []
        while time.monotonic() < until:
            assert one.keep([long])
            found += other.reclaim(IDLE, 10)
            time.sleep(IDLE / 10)
        assert ids(found)[0] == lost.job.task_id
        assert long.job.task_id not in ids(found)

    def test_a_stopped_worker_s_late_word_does_no_harm(self, bench: Bench) -> None:
        """Its job went to another, and stays there; a third gets it when that one dies."""
        bench.transport().publish(jobs("task"))
        stopped, other, third = bench.worker(), bench.worker(), bench.source()
        assert stopped.ask("fetch", limit=1, wait=5) == ["task"]
        stopped.stop()
        other_source = bench.source()
        (again,) = eventually(lambda: other_source.reclaim(IDLE, 10))
        stopped.go_on()
        assert stopped.ask("done") is True
        other.kill()
        assert ids(eventually(lambda: third.reclaim(IDLE, 10))) == [again.job.task_id]
        assert other_source.done([again])
        bench.transport().publish(jobs("next"))
        assert ids(take(third, 1)) == ["next"]

    def test_a_worker_that_ends_leaves_what_it_holds_to_others(self, bench: Bench) -> None:
        """Closing hands nothing out twice and loses nothing."""
        bench.transport().publish(jobs("running", "waiting"))
        one, other = bench.source(), bench.source()
        held = take(one, 1)
        one.close()
        one.close()
        assert one.fetch(1, 1) == []
        rest = take(other, 1)
        again = eventually(lambda: other.reclaim(IDLE, 10))
        assert {*ids(held), *ids(rest)} == {"running", "waiting"}
        assert ids(held)[0] in ids(again)

    def test_a_close_ends_a_fetch_that_waits(self, bench: Bench) -> None:
        """Within a moment, and what comes at that moment is there for others."""
        transport, source, other = bench.transport(), bench.source(), bench.source()
        got: list[str] = []
        fetching = threading.Thread(target=lambda: got.extend(ids(source.fetch(1, 60))))
        fetching.start()
        closing = threading.Thread(target=source.close)
        closing.start()
        transport.publish(jobs("task"))
        closing.join(10)
        fetching.join(10)
        assert not fetching.is_alive()
        if not got:
            assert ids(take(other, 1)) == ["task"]

    def test_two_reclaim_at_once_and_one_gets_it(self, bench: Bench) -> None:
        """Neither twice, nor neither."""
        transport = bench.transport()
        transport.publish(jobs(*(f"task-{i}" for i in range(40))))
        lost, one, other = bench.source(), bench.source(), bench.source()
        take(lost, 40)
        time.sleep(IDLE)
        found: list[str] = []

        def reclaim(source: Source, lock: threading.Lock, ready: threading.Barrier) -> None:
            ready.wait()
            got = ids(source.reclaim(IDLE, 40))
            with lock:
                found.extend(got)

        lock, ready = threading.Lock(), threading.Barrier(2)
        threads = [threading.Thread(target=reclaim, args=(s, lock, ready)) for s in (one, other)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(found) == sorted(f"task-{i}" for i in range(40))

    def test_a_reclaim_takes_no_more_than_asked_for(self, bench: Bench) -> None:
        """So that a worker's free slots bound what it holds."""
        bench.transport().publish(jobs(*(f"task-{i}" for i in range(6)), priority=URGENT))
        bench.transport().publish(jobs(*(f"more-{i}" for i in range(6))))
        lost, source = bench.source(), bench.source()
        take(lost, 12)
        time.sleep(IDLE)
        assert len(source.reclaim(IDLE, 7)) == 7
        assert len(source.reclaim(IDLE, 7)) == 5

    def test_what_is_published_at_the_moment_of_closing_is_never_lost(self, bench: Bench) -> None:
        """Workers come and go under load; what each was handed and is not done with comes to the next."""
        transport, source = bench.transport(), bench.source()
        names = [f"task-{i}" for i in range(60)]
        publishing = threading.Thread(target=lambda: [transport.publish(jobs(n)) for n in names])
        publishing.start()
        seen: list[str] = []
        while len(set(seen)) < 60:
            closing = threading.Timer(0.01, source.close)
            closing.start()
            found = source.fetch(2, 0.5) or source.reclaim(5, 5)
            seen += ids(found)
            source.done(found)
            closing.join()
            source = bench.source()
        publishing.join()
        assert sorted(seen) == sorted(names)
