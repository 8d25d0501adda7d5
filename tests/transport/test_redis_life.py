"""What is particular to Redis: garbage, trimming, consumers, memory, scripts, lost connections, forks."""

from __future__ import annotations

import os
import threading
import time
from typing import Any

import pytest

from ax_core.errors import TransportError
from ax_core.ports import Job
from ax_core.testing.transport import Peer
from ax_core.testing.transport.bench import Ear, eventually, ids, jobs, take
from ax_core.transport import open_transport
from support.servers.redis import Redis


class Said(list[str]):
    """What was complained of."""

    def __call__(self, what: str, error: BaseException) -> None:
        self.append(what)


@pytest.fixture
def said() -> Said:
    return Said()


@pytest.fixture
def stream(redis_url: str) -> str:
    return f"{{{redis_url.rpartition('=')[2]}}}:queue:default:1"


@pytest.fixture
def client(redis_server: Redis) -> Any:
    with redis_server.client() as client:
        yield client


def test_garbage_is_kept_for_people_and_complained_of(
    redis_url: str, client: Any, stream: str, said: Said
) -> None:
    """With where it was, why it is no job, and what it said, cut; the dead letters are bounded."""
    transport = open_transport(redis_url, complain=said)
    source = transport.source("w", ["default"])
    client.xadd(stream, {"v": "1", "t": "task", "body": "x" * 10_000})
    assert source.fetch(5, 0.2) == []
    ((_, kept),) = client.xrange(stream.replace(":queue:default:1", ":dead"))
    assert kept["ax_from"] == stream and kept["ax_why"] == "no field 'n'" and len(kept["body"]) == 4096
    assert len(said) == 1 and "set aside" in said[0]
    for _ in range(30):
        with client.pipeline() as many:
            for _ in range(100):
                many.xadd(stream, {"v": "?"})
            many.execute()
    while client.xlen(stream):
        assert source.fetch(500, 0) == []
    assert client.xlen(stream.replace(":queue:default:1", ":dead")) <= 1100
    transport.close()


def test_an_entry_that_was_trimmed_while_it_was_held_is_forgotten(
    redis_url: str, client: Any, stream: str
) -> None:
    """Its place in the list of held entries goes; the database has the task."""
    transport = open_transport(redis_url)
    source = transport.source("w", ["default"])
    transport.publish(jobs("trimmed", "stays"))
    take(source, 2)
    client.xtrim(stream, maxlen=1, approximate=False)
    assert ids(source.reclaim(0, 10)) == ["stays"]
    assert transport.health().fetched["default"] == 1
    transport.close()


def test_a_closed_worker_leaves_no_consumer_and_a_killed_one_is_forgotten(
    redis_url: str, client: Any, stream: str
) -> None:
    """One that still holds something is left for whoever reclaims it."""
    transport = open_transport(redis_url)
    source, holder = transport.source("closed", ["default"]), transport.source("holder", ["default"])
    transport.publish(jobs("held", "done"))
    take(holder, 1)
    source.done(take(source, 1))
    assert names(client, stream) == {"closed", "holder"}
    source.close()
    holder.close()
    assert names(client, stream) == {"holder"}
    last = transport.source("last", ["default"])
    last.done(last.reclaim(0, 1))
    last._prune(0, "")
    assert names(client, stream) == set()
    transport.close()


def names(client: Any, stream: str) -> set[str]:
    return {consumer["name"] for consumer in client.xinfo_consumers(stream, "ax")}


@pytest.mark.slow
def test_a_hundred_thousand_jobs_leave_nothing_behind(redis_url: str, client: Any, stream: str) -> None:
    """Also past one that nobody ever finishes."""
    transport = open_transport(redis_url)
    stuck, source, ear = transport.source("stuck", ["default"]), transport.source("w", ["default"]), Ear()
    transport.publish(jobs("stuck"))
    take(stuck, 1)
    transport.listen("client", ear)
    longest = 0
    for k in range(100):
        assert transport.publish(jobs(*(f"{k}-{i}" for i in range(1000)), reply_to="client"))
        assert source.done(take(source, 1000))
        longest = max(longest, client.xlen(stream))
    ear.wait("99-999")
    assert (client.xlen(stream), longest) == (1, 1)
    assert client.memory_usage(stream) < 100_000
    assert client.xlen(stream.replace("queue:default:1", "reply:client")) <= 1100
    transport.close()


def test_scripts_that_the_server_forgot_are_sent_again(redis_url: str, client: Any) -> None:
    """Nobody notices."""
    transport = open_transport(redis_url)
    source = transport.source("w", ["default"])
    transport.publish(jobs("a", "b"))
    first = take(source, 1)
    client.script_flush()
    assert source.done(first)
    client.script_flush()
    assert source.done(take(source, 1))
    assert transport.health().fetched["default"] == 0
    transport.close()


def test_connections_that_break_again_and_again_are_made_again(redis_url: str, client: Any) -> None:
    """Consumption and waking go on by themselves."""
    transport, ear = open_transport(redis_url), Ear()
    source = transport.source("w", ["default"])
    transport.listen("client", ear)
    for i in range(10):
        client.client_kill_filter(_type="normal", skipme=True)
        assert transport.publish(jobs(f"task-{i}", reply_to="client"))
        assert source.done(take(source, 1))
        ear.wait(f"task-{i}")
    transport.close()


def test_a_connection_that_is_lost_and_made_again_is_no_outage(
    redis_url: str, client: Any, said: Said
) -> None:
    """A server that was restarted while nobody asked it anything, or a proxy that ends what is idle."""
    transport = open_transport(redis_url, complain=said)
    assert transport.publish(jobs("before"))
    client.client_kill_filter(_type="normal", skipme=True)
    assert transport.publish(jobs("after"))
    assert said == []
    transport.close()


def test_an_outage_is_complained_of_once(said: Said) -> None:
    """However many threads run into it; the next one is a new one."""
    with Redis() as server:
        transport = open_transport(server.url, complain=said)
        source, ear = transport.source("w", ["default"]), Ear()
        transport.listen("client", ear)
        assert transport.publish(jobs("before"))
        for _ in range(2):
            server.stop()
            refused = [transport.publish(jobs("lost")) for _ in range(20)]
            source.fetch(1, 0.5)
            assert refused == [False] * 20
            server.start()
            eventually(lambda: transport.publish(jobs("back", reply_to="client")))
            eventually(lambda: source.done(found) if (found := source.fetch(9, 1)) else "back" in ear.heard)
        assert [line for line in said if "away" not in line] == []
        assert len(said) in (2, 3, 4)  # a client that connects while the server starts may see its end twice
        transport.close()


def test_a_publish_while_the_server_is_away_costs_next_to_nothing() -> None:
    """The first finds out, the others are told."""
    with Redis() as server:
        transport = open_transport(server.url, complain=Said())
        transport.publish(jobs("before"))
        server.stop()
        address, tried = transport._link.address, []  # type: ignore[attr-defined]
        connection = address.connection
        address.connection = lambda patience: tried.append(patience) or connection(patience)
        began = time.monotonic()
        for _ in range(1000):
            assert transport.publish(jobs("next")) is False
        # The pauses are 25 to 50 ms at first and grow.
        assert len(tried) <= 2 + (time.monotonic() - began) / 0.025
        assert len(tried) < 100
        server.start()
        transport.close()


def test_a_client_hears_on_when_the_server_s_clock_goes_back(
    redis_url: str, client: Any, stream: str
) -> None:
    """And nothing that it was told stays there."""
    transport, ear = open_transport(redis_url), Ear()
    replies = stream.replace("queue:default:1", "reply:client")
    transport.listen("client", ear)
    client.xadd(replies, {"t": "from tomorrow"}, id="99999999999999-0")
    ear.wait("from", "tomorrow")
    eventually(lambda: client.xlen(replies) == 0)
    client.delete(replies)
    transport.wake("client", ["from today"])
    ear.wait("today")
    assert ear.heard.count("today") == 1
    transport.close()


@pytest.mark.parametrize(
    "fault, again", [("fetch.after", ["task"]), ("done.before", ["task"]), ("done.after", [])]
)
def test_a_worker_that_dies_at_the_worst_moment_leaves_its_job_to_others(
    redis_url: str, fault: str, again: list[str]
) -> None:
    """Right after it was handed the job, and right before it says that it is done with it."""
    transport = open_transport(redis_url)
    transport.publish(jobs("task"))
    with Peer("ax_core.transport:open_transport", redis_url, fault=f"{fault}=kill") as worker:
        worker.ask("source", name="w1", queues=["default"])
        worker.tell("work", count=1, seconds=10)
        assert worker.died()
    assert ids(transport.source("w2", ["default"]).reclaim(0, 10)) == again
    transport.close()


@pytest.mark.parametrize("fault, arrived", [("publish.before", 0), ("publish.after", 1)])
def test_a_client_that_dies_around_a_publish_leaves_one_job_or_none(
    redis_url: str, fault: str, arrived: int
) -> None:
    """The database knows which task it was."""
    with Peer("ax_core.transport:open_transport", redis_url, fault=f"{fault}=kill") as client:
        client.tell("publish", jobs=[["task", "tenant"]])
        assert client.died()
    transport = open_transport(redis_url)
    assert transport.health().waiting["default"] == arrived
    transport.close()


def test_a_full_server_takes_nothing_more_and_still_hands_out(said: Said) -> None:
    """With noeviction, as it should be set: publishing says False once it is full, and workers make room."""
    with Redis() as server:
        transport = open_transport(server.url, complain=said)
        source = transport.source("w", ["default"])
        source.fetch(1, 0)
        assert transport.publish(jobs("a", "b", reply_to="client"))
        server.client().config_set("maxmemory", "1")
        assert [transport.publish(jobs("c")) for _ in range(20)] == [False] * 20
        source.done(take(source, 2))
        assert (transport.health().waiting["default"], transport.health().fetched["default"]) == (0, 0)
        assert [line for line in said if "publish" in line] == ["the queue could not publish"]
        server.client().config_set("maxmemory", "0")
        assert transport.publish(jobs("c"))
        assert ids(take(source, 1)) == ["c"]
        transport.close()


def test_a_stream_that_is_none_does_not_keep_the_others_from_their_workers(
    redis_url: str, client: Any, stream: str, said: Said
) -> None:
    """Whoever put something else under its name."""
    transport = open_transport(redis_url, complain=said)
    source = transport.source("w", ["default"])
    urgent = stream[:-1] + "0"
    client.set(urgent, "not a stream")
    transport.publish(jobs("a", "b"))
    assert ids(source.fetch(1, 0)) == ["a"]
    assert len(said) == 1
    assert transport.publish(jobs("refused", priority=0)) is False
    client.delete(urgent)
    transport.publish(jobs("urgent", priority=0))
    assert sorted(ids(take(source, 2))) == ["b", "urgent"]
    transport.close()


def test_a_stream_that_was_deleted_is_served_again_while_others_are_busy(
    redis_url: str, client: Any, stream: str
) -> None:
    """Its group is made anew by the way."""
    transport = open_transport(redis_url)
    source = transport.source("w", ["default"])
    source.fetch(1, 0)
    client.delete(stream[:-1] + "0")
    transport.publish([*jobs("urgent", priority=0), *jobs(*(f"normal-{i}" for i in range(50)))])
    assert "urgent" in [ids(source.fetch(1, 1))[0] for _ in range(3)]
    transport.close()


def test_deployments_on_one_server_do_not_meet(redis_url: str) -> None:
    """Two prefixes, two queues."""
    one, other = open_transport(redis_url), open_transport(redis_url + "-other")
    one.publish(jobs("mine"))
    assert other.source("w", ["default"]).fetch(1, 0.05) == []
    assert ids(take(one.source("w", ["default"]), 1)) == ["mine"]
    one.close()
    other.close()


def test_a_forked_child_opens_its_own_and_leaves_the_parent_s_alone(redis_url: str) -> None:
    """The parent's connections work on, and the child is told rather than mixing replies."""
    transport, ear = open_transport(redis_url), Ear()
    transport.listen("client", ear)
    source = transport.source("w", ["default"])
    transport.publish([Job("before", "t")])
    source.done(take(source, 1))
    child = os.fork()
    if child == 0:
        code = 1
        try:
            refused = transport.publish(jobs("from the child")) is False
            transport.close()
            own = open_transport(redis_url)
            code = 0 if refused and own.publish(jobs("own", reply_to="client")) else 2
            own.close()
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    found = take(source, 1)
    assert ids(found) == ["own"]
    source.done(found)
    ear.wait("own")
    transport.close()


def test_a_closed_transport_ends_its_thread_and_answers_false(redis_url: str, client: Any) -> None:
    """No connection and no stream of its client is left."""
    before, started = len(client.client_list()), threading.active_count()
    transport = open_transport(redis_url + "-closing")
    transport.listen("client", Ear())
    source = transport.source("w", ["default"])
    transport.publish(jobs("task", reply_to="client"))
    source.done(take(source, 1))
    transport.close()
    transport.close()
    assert transport.publish(jobs("task")) is False
    assert source.fetch(1, 1) == []
    with pytest.raises(TransportError):
        transport.check()
    eventually(lambda: len(client.client_list()) == before)
    assert client.keys("*-closing}:reply:*") == []
    assert threading.active_count() <= started + 1
