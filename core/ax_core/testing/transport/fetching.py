"""The part of the contract about jobs on their way to a worker: all of them, in order of urgency, and not too many."""

from __future__ import annotations

import threading
import time

from ...ports import BACKGROUND, NORMAL, URGENT, Delivery, Job
from .bench import Bench, Fixtures, ids, jobs, take


class Fetching(Fixtures):
    """From a publish to a fetch."""

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
        """The first named first."""
        transport = bench.transport()
        for queue in ("a", "b", "c"):
            transport.publish(jobs(queue, queue=queue))
        source = bench.source("a", "b")
        assert ids(take(source, 2)) == ["a", "b"]
        assert source.fetch(1, 0.1) == []

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

    def test_a_job_that_cannot_be_is_refused(self, bench: Bench) -> None:
        """Queues and priorities are checked where they are named."""
        transport = bench.transport()
        for wrong in ({"queue": "a b"}, {"queue": ""}, {"priority": 7}):
            try:
                transport.publish(jobs("task", **wrong))
            except ValueError:
                continue
            raise AssertionError(f"{wrong} was taken")
