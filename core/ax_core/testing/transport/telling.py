"""The part of the contract about being told: waking, events, the hint of a session."""

from __future__ import annotations

import time
from typing import Any

from .bench import Bench, Ear, Fixtures, eventually, jobs, take


class Telling(Fixtures):
    """Push, not polling."""

    def test_a_client_is_woken_when_its_job_is_done(self, bench: Bench) -> None:
        """And not before."""
        client, source, ear = bench.transport(), bench.source(), Ear()
        client.listen("client", ear)
        client.publish(jobs("a", "b", reply_to="client") + jobs("silent"))
        found = take(source, 3)
        assert ear.heard == []
        source.done(found)
        ear.wait("a", "b")
        assert "silent" not in ear.heard

    def test_a_waiter_in_another_process_is_woken(self, bench: Bench) -> None:
        """By a worker in a third one."""
        client, worker = bench.peer(), bench.worker()
        client.ask("listen", client="far away")
        began = time.monotonic()
        assert client.ask("publish", jobs=[["task", "tenant", "default", 1, "far away"]])
        assert worker.ask("work", count=1, seconds=10) == ["task"]
        assert client.ask("heard", count=1, seconds=10) == ["task"]
        assert time.monotonic() - began < 9

    def test_any_process_may_wake_a_client(self, bench: Bench) -> None:
        """An operator's decision, say."""
        client, transport = bench.peer(), bench.transport()
        client.ask("listen", client="far away")
        assert transport.wake("far away", ["task", "other"])
        assert client.ask("heard", count=2, seconds=10) == ["task", "other"]

    def test_who_listens_a_moment_later_is_told_all_the_same(self, bench: Bench) -> None:
        """A worker may be faster than its client."""
        transport, ear = bench.transport(), Ear()
        assert transport.wake("client", ["early"])
        transport.listen("client", ear)
        ear.wait("early")
        assert transport.wake("client", ["late", "later"])
        ear.wait("late", "later")

    def test_each_client_hears_its_own(self, bench: Bench) -> None:
        """Also one whose name is made to look like another's."""
        one, other = bench.transport(), bench.transport()
        first, second = Ear(), Ear()
        one.listen("a:b", first)
        other.listen("a", second)
        other.wake("a", ["x"])
        one.wake("a:b", ["y"])
        first.wait("y")
        second.wait("x")
        assert (set(first.heard), set(second.heard)) == ({"y"}, {"x"})

    def test_an_ear_that_fails_goes_on_hearing(self, bench: Bench) -> None:
        """Nothing that a waiter does ends the listening."""
        transport, ear = bench.transport(), Ear()

        def woken(task_ids: object) -> None:
            ear(task_ids)  # type: ignore[arg-type]
            raise RuntimeError("of no concern to the queue")

        transport.listen("client", woken)
        transport.wake("client", ["a"])
        ear.wait("a")
        transport.wake("client", ["b"])
        ear.wait("b")

    def test_events_are_followed_from_a_position(self, bench: Bench) -> None:
        """In their order, by any number of readers, from now or from the beginning."""
        transport, reader = bench.transport(), bench.transport()
        began = reader.events(None, 0)
        assert (list(began.events), began.gap) == ([], False)
        assert transport.announce([{"n": i, "text": "ä"} for i in range(3)])
        news = reader.events(began.position, 5)
        assert [event["n"] for event in news.events] == [0, 1, 2]
        assert news.events[0]["text"] == "ä"
        transport.announce([{"n": 3}])
        more = reader.events(news.position, 5)
        assert ([event["n"] for event in more.events], more.gap) == ([3], False)
        assert len(reader.events("0", 0).events) == 4
        assert not reader.events(more.position, 0.05).events

    def test_what_is_told_with_jobs_is_there_before_them(self, bench: Bench) -> None:
        """Whoever fetches a job finds what was told of its task."""
        transport, source, reader = bench.transport(), bench.source(), bench.transport()
        began = reader.events(None, 0)
        found: list[list[Any]] = []
        for n in range(20):
            assert transport.publish(jobs(f"task-{n}"), [{"n": n}])
            take(source, 1)
            found.append([event["n"] for event in reader.events(began.position, 0).events])
        assert found == [list(range(n + 1)) for n in range(20)]

    def test_the_hint_of_a_session_has_one_token_at_a_time(self, bench: Bench) -> None:
        """It ends by itself, is renewed by its token, and taken back by nobody else."""
        one, other = bench.transport(), bench.transport()
        assert one.hold("ns", "s", "token-1", 30) is None
        assert other.hold("ns", "s", "token-2", 30) == "token-1"
        assert one.hold("ns", "s", "token-1", 30) is None
        assert other.hold("other", "s", "token-3", 30) is None
        other.let_go("ns", "s", "token-2")
        assert other.hold("ns", "s", "token-2", 30) == "token-1"
        one.let_go("ns", "s", "token-1")
        assert other.hold("ns", "s", "token-2", 0.1) is None
        eventually(lambda: one.hold("ns", "s", "token-1", 30) is None, seconds=5)

    def test_no_tenant_can_name_another_s_session(self, bench: Bench) -> None:
        """However the parts are cut."""
        transport = bench.transport()
        assert transport.hold("a", "b:c", "one", 30) is None
        assert transport.hold("a:b", "c", "two", 30) is None
        assert transport.hold("a%3Ab", "c", "three", 30) is None
