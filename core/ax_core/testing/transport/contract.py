"""Each promise of :mod:`ax_core.ports` as a test."""

from __future__ import annotations

import threading
import time

from ...ports import BACKGROUND, NORMAL, URGENT, Delivery, Job
from .bench import Bench, eventually, ids, jobs, take
from .broken import BrokenServer
from .telling import Telling

IDLE = 0.3


class TransportContract(Telling, BrokenServer):
    """Subclass it and give it a ``where``; see :mod:`ax_core.testing.transport`."""

    def test_the_server_passes_the_check(self, bench: Bench) -> None:
        """A server as it is set up for the tests needs no warning."""
        assert list(bench.transport().check()) == []

    def test_a_job_arrives_as_it_was_published(self, bench: Bench) -> None:
        """Ids of any alphabet that the store allows come out as they went in."""
        job = Job("0193", "ténant:{a} b", "mail", URGENT, "client:1")
        assert bench.transport().publish([job])
        (delivery,) = take(bench.source("mail"), 1)
        assert delivery.job == job
        assert delivery.times == 1

    def test_many_jobs_are_published_in_one_go_and_handed_out_once_each(self, bench: Bench) -> None:
        """Two workers share them; nobody gets what another has."""
        names = [f"task-{i}" for i in range(500)]
        assert bench.transport().publish(jobs(*names))
        one, other = bench.source(), bench.source()
        found = [*take(one, 250), *take(other, 250)]
        assert sorted(ids(found)) == sorted(names)
        assert one.fetch(10, 0) == []

    def test_no_more_than_asked_for_is_handed_out(self, bench: Bench) -> None:
        """Also where jobs of all priorities come at the moment in which a worker that waits has one free slot."""
        transport, source = bench.transport(), bench.source()
        every = [Job(f"{i}-{p}", "t", priority=p) for i in range(30) for p in (URGENT, NORMAL, BACKGROUND)]
        publishing = threading.Thread(
            target=lambda: [transport.publish(every[i : i + 3]) for i in range(0, 90, 3)]
        )
        publishing.start()
        found: list[Delivery] = []
        while len(found) < 90:
            got = source.fetch(1, 5)
            assert len(got) == 1
            found += got
        publishing.join()
        assert set(ids(found)) == {job.task_id for job in every}

    def test_what_one_worker_did_not_ask_for_is_there_for_others(self, bench: Bench) -> None:
        """Nobody hoards: four workers with one slot each share what is there."""
        bench.transport().publish(jobs(*(f"task-{i}" for i in range(4))))
        sources = [bench.source() for _ in range(4)]
        assert [len(source.fetch(1, 2)) for source in sources] == [1, 1, 1, 1]

    def test_the_urgent_come_first(self, bench: Bench) -> None:
        """Whatever was published before."""
        transport, source = bench.transport(), bench.source()
        for priority in (BACKGROUND, NORMAL, URGENT):
            transport.publish(jobs(f"task-{priority}", priority=priority))
        assert ids(take(source, 3)) == ["task-0", "task-1", "task-2"]

    def test_a_flood_of_urgent_jobs_does_not_hold_up_the_others_for_ever(self, bench: Bench) -> None:
        """The one that is not urgent comes long before the flood is over."""
        transport, source = bench.transport(), bench.source()
        transport.publish(jobs("patient", priority=BACKGROUND))
        transport.publish(jobs(*(f"flood-{i}" for i in range(200)), priority=URGENT))
        assert "patient" in [ids(source.fetch(1, 5))[0] for _ in range(50)]

    def test_a_worker_that_waits_gets_a_job_at_once(self, bench: Bench) -> None:
        """It is pushed; the wait is only how long it stays if nothing comes."""
        transport, source = bench.transport(), bench.source()
        source.fetch(1, 0)
        timer = threading.Timer(0.2, lambda: transport.publish(jobs("task")))
        began = time.monotonic()
        timer.start()
        assert ids(source.fetch(5, 10)) == ["task"]
        assert time.monotonic() - began < 5

    def test_where_nothing_comes_a_fetch_ends_in_time(self, bench: Bench) -> None:
        """And counts as a poll all the same."""
        source = bench.source()
        source.fetch(1, 0)
        began = time.monotonic()
        assert source.fetch(1, 0.3) == []
        assert 0.2 < time.monotonic() - began < 5
        assert source.last_poll >= began

    def test_a_worker_serves_the_queues_it_names_and_no_others(self, bench: Bench) -> None:
        """Each in its turn."""
        transport = bench.transport()
        for queue in ("a", "b", "c"):
            transport.publish(jobs(queue, queue=queue))
        source = bench.source("a", "b")
        assert set(ids(take(source, 2))) == {"a", "b"}
        assert source.fetch(1, 0.1) == []

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

    def test_sixty_four_threads_publish_at_once(self, bench: Bench) -> None:
        """They share round trips, and nothing is mixed up."""
        transport, source = bench.transport(), bench.source()
        said: list[bool] = []

        def publish(thread: int) -> None:
            said.extend(transport.publish(jobs(f"{thread}-{i}")) for i in range(20))

        threads = [threading.Thread(target=publish, args=(i,)) for i in range(64)]
        for thread in threads:
            thread.start()
        found = take(source, 64 * 20)
        for thread in threads:
            thread.join()
        assert said == [True] * 64 * 20
        assert set(ids(found)) == {f"{thread}-{i}" for thread in range(64) for i in range(20)}
        assert source.done(found)

    def test_two_reclaim_at_once_and_one_gets_it(self, bench: Bench) -> None:
        """Neither twice, nor neither."""
        transport = bench.transport()
        transport.publish(jobs(*(f"task-{i}" for i in range(40))))
        lost, one, other = bench.source(), bench.source(), bench.source()
        take(lost, 40)
        time.sleep(IDLE)
        found: list[str] = []

        def reclaim(source: object, lock: threading.Lock, ready: threading.Barrier) -> None:
            ready.wait()
            got = ids(source.reclaim(IDLE, 40))  # type: ignore[attr-defined]
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

    def test_a_job_that_cannot_be_is_refused(self, bench: Bench) -> None:
        """Queues and priorities are checked where they are named."""
        transport = bench.transport()
        for wrong in ({"queue": "a b"}, {"queue": ""}, {"priority": 7}):
            try:
                transport.publish(jobs("task", **wrong))
            except ValueError:
                continue
            raise AssertionError(f"{wrong} was taken")

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
