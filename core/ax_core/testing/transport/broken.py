"""The part of the contract about a server that is away, or lost everything: the queue is only a hint."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from ...ports import Delivery
from .bench import Bench, Ear, Fixtures, eventually, ids, jobs, take


class BrokenServer(Fixtures):
    """Nothing here raises, hangs or ends a loop."""

    def test_a_server_that_forgot_everything_goes_on(self, bench: Bench, forgets: Callable[[], None]) -> None:
        """In the middle of a fetch, of a job and of a wait; what is published later arrives."""
        transport, source, ear = bench.transport(), bench.source(), Ear()
        transport.listen("client", ear)
        transport.publish(jobs("held", "waiting", reply_to="client"))
        held = take(source, 1)
        fetched: list[str] = []
        other = bench.source()
        take(other, 1)
        waiting = threading.Thread(target=lambda: fetched.extend(ids(other.fetch(1, 20))))
        waiting.start()
        forgets()
        assert source.keep(held)
        assert source.give_back(held)
        assert source.reclaim(0, 10) == []
        assert source.done(held)
        ear.wait(*ids(held))
        assert transport.publish(jobs("later"))
        waiting.join(20)
        assert fetched == ["later"]

    def test_what_was_published_while_nobody_fetched_arrives(
        self, bench: Bench, forgets: Callable[[], None]
    ) -> None:
        """Also when the server forgot who its workers are before."""
        transport, source = bench.transport(), bench.source()
        source.fetch(1, 0)
        forgets()
        transport.publish(jobs("a", "b"))
        assert sorted(ids(take(source, 2))) == ["a", "b"]

    def test_events_that_were_lost_leave_a_gap_that_is_told(
        self, bench: Bench, forgets: Callable[[], None]
    ) -> None:
        """Once; then it goes on."""
        transport = bench.transport()
        transport.announce([{"n": 1}])
        news = transport.events("0", 1)
        assert not news.gap
        forgets()
        transport.announce([{"n": 2}])
        after = transport.events(news.position, 5)
        assert after.gap
        more = after if after.events else transport.events(after.position, 5)
        assert [event["n"] for event in more.events] == [2]
        assert not transport.events(more.position, 0).gap

    def test_a_restart_with_its_data_loses_nothing(
        self, bench: Bench, restarts: Callable[[bool], None]
    ) -> None:
        """What was fetched is still its worker's, what was not is still there."""
        transport, source, ear = bench.transport(), bench.source(), Ear()
        transport.listen("client", ear)
        transport.publish(jobs("held", reply_to="client"))
        held = take(source, 1)
        transport.publish(jobs("waiting"))
        restarts(True)
        assert source.done(held)
        ear.wait("held")
        rest = take(source, 1)
        assert ids(rest) == ["waiting"]
        assert source.done(rest)
        assert source.reclaim(0, 10) == []

    def test_a_restart_without_its_data_is_gone_through(
        self, bench: Bench, restarts: Callable[[bool], None]
    ) -> None:
        """Workers, clients and publishers go on as if nothing had been."""
        transport, source, ear = bench.transport(), bench.source(), Ear()
        transport.listen("client", ear)
        transport.publish(jobs("lost", reply_to="client"))
        held = take(source, 1)
        restarts(False)
        assert source.done(held)
        ear.wait("lost")
        assert transport.publish(jobs("new", reply_to="client"))
        assert source.done(take(source, 1))
        ear.wait("new")

    def test_while_the_server_stands_still_nothing_hangs(
        self, bench: Bench, stands_still: Callable[[bool], None]
    ) -> None:
        """Hints answer False in bounded time, fetches are empty, the last poll stands; then all go on by themselves."""
        transport, source, ear = bench.transport(), bench.source(), Ear()
        transport.listen("client", ear)
        source.fetch(1, 0)
        stands_still(True)
        began, polled = time.monotonic(), source.last_poll
        assert transport.publish(jobs("unheard")) is False
        assert source.fetch(1, 1) == []
        assert transport.hold("ns", "s", "token", 1) is None
        assert transport.health().ok is False
        assert time.monotonic() - began < 15
        assert source.last_poll == polled
        stands_still(False)
        eventually(lambda: transport.publish(jobs("task", reply_to="client")))
        found: list[Delivery] = []
        while "task" not in ids(found):
            found += source.fetch(5, 5)
        source.done(found)
        ear.wait("task")
        assert source.last_poll > polled
        assert transport.health().ok

    def test_garbage_is_set_aside_and_harms_nobody(self, bench: Bench, garbage: Callable[[], int]) -> None:
        """It is neither handed out nor met again, and what stands behind it arrives."""
        transport, source = bench.transport(), bench.source()
        assert garbage() > 0
        transport.publish(jobs("good"))
        found = take(source, 1)
        assert ids(found) == ["good"]
        source.done(found)
        eventually(lambda: sum(transport.health().fetched.values()) == 0)
        assert source.reclaim(0, 100) == []
        assert transport.health().waiting["default"] == 0
