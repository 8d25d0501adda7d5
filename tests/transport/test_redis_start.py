"""What is found out at start: servers that cannot be used are refused with the reason, doubtful ones warned of."""

from __future__ import annotations

import pytest

from ax_core.errors import TransportError
from ax_core.rates import Rate
from ax_core.testing.transport.bench import jobs
from ax_core.transport import open_transport
from ax_core.transport.redis import check
from support.servers.process import free_port
from support.servers.redis import Redis


def test_a_server_that_may_drop_keys_is_warned_of() -> None:
    """An eviction policy other than noeviction."""
    with Redis(maxmemory="100mb", maxmemory_policy="allkeys-lru") as server:
        (warning,) = open_transport(server.url).check()
        assert "noeviction" in warning and "allkeys-lru" in warning


def test_a_cluster_is_refused() -> None:
    """Loudly, rather than without half of the promises."""
    node = Redis(cluster_enabled="yes")
    while node.port > 55_000:  # its nodes talk on a port ten thousand above
        node.port = free_port()
    with node as server, pytest.raises(TransportError, match="is a Redis Cluster"):
        open_transport(server.url).check()


def test_a_replica_is_refused(redis_server: Redis) -> None:
    """It could be read and not written."""
    with (
        Redis(replicaof=f"127.0.0.1 {redis_server.port}") as server,
        pytest.raises(TransportError, match="read-only replica"),
    ):
        open_transport(server.url).check()


def test_a_sentinel_is_refused() -> None:
    """Its address is not that of the data."""

    class Sentinel(Redis):
        def prepare(self) -> None:
            (self.folder / "sentinel.conf").write_text(f"port {self.port}\nbind 127.0.0.1\n")

        def command(self) -> list[str]:
            return [self.program, str(self.folder / "sentinel.conf"), "--sentinel"]

    with Sentinel() as server, pytest.raises(TransportError, match="Sentinel"):
        open_transport(server.url).check()


@pytest.mark.parametrize(
    "version, fits", [("6.0.16", False), ("6.2.0", True), ("7.4.1", True), ("8.2.0", True)]
)
def test_a_server_too_old_is_refused(redis_url: str, version: str, fits: bool) -> None:
    """The oldest is 6.2."""
    link = open_transport(redis_url)._link  # type: ignore[attr-defined]
    facts = {"redis_version": version, "redis_mode": "standalone", "role": "master"}
    if fits:
        check._kind(link, facts)
        assert check._doubts(facts) == []
    else:
        with pytest.raises(TransportError, match=r"6\.0\.16; AX needs 6\.2"):
            check._kind(link, facts)
    assert check._doubts({**facts, "redis_version": "9.0.0"}) != []


def test_a_server_that_is_away_is_refused_without_its_password() -> None:
    """The message names where it looked, and no secret."""
    port = free_port()
    with pytest.raises(TransportError, match=f"127.0.0.1:{port}") as refused:
        open_transport(f"redis://user:hunter2@127.0.0.1:{port}/0").check()
    assert "hunter2" not in str(refused.value)
    assert refused.value.code == "transport_error"


@pytest.fixture
def guarded(redis_server: Redis) -> object:
    client = redis_server.client()
    yield client
    for user in ("narrow", "elsewhere", "mine", "quiet"):
        client.acl_deluser(user)


def test_a_login_with_too_few_rights_is_refused(redis_server: Redis, guarded: object) -> None:
    """At start, with the server's own words, and nothing is left behind."""
    rights = {"narrow": "~* +@read +info", "elsewhere": "~other:* +@all"}
    for user, given in rights.items():
        guarded.execute_command("ACL", "SETUSER", user, "on", ">secret", *given.split())  # type: ignore[attr-defined]
        url = f"redis://{user}:secret@127.0.0.1:{redis_server.port}/0"
        with pytest.raises(TransportError, match=r"does not let this login.*(?i:permission|NOPERM)"):
            open_transport(url).check()
        assert open_transport(url).publish(jobs("task")) is False
    with pytest.raises(TransportError, match="(?i)username-password|WRONGPASS"):
        open_transport(f"redis://narrow:wrong@127.0.0.1:{redis_server.port}/0").check()


def test_the_rights_that_the_docs_name_are_enough(redis_server: Redis, guarded: object) -> None:
    """Its own keys, and no administration; without INFO it is only warned of."""
    keys = "~{mine}:* ~agent_lock:*"
    commands = "+@read +@write +@stream +@scripting +@connection +time -@dangerous"
    for user, more in (("mine", "+info"), ("quiet", "")):
        given = f"{keys} {commands} {more}".split()
        guarded.execute_command("ACL", "SETUSER", user, "on", ">secret", *given)  # type: ignore[attr-defined]
        url = f"redis://{user}:secret@127.0.0.1:{redis_server.port}/0?prefix=mine"
        transport = open_transport(url)
        assert len(transport.check()) == (0 if more else 1)
        limiter = transport.limiter()
        assert limiter is not None
        assert limiter.take_place("tool", 1, user, 0.001)
        assert limiter.count(f"tool of {user}", Rate(1, 60)) == 0
        assert limiter.count(f"tool of {user}", Rate(1, 60)) > 0


@pytest.mark.parametrize(
    "url, why",
    [
        ("amqp://localhost", "no queue is called 'amqp'"),
        ("redis://localhost:notaport/0", "cannot be a queue"),
        ("redis://localhost/0?no_such_option=1", "no_such_option"),
        ("redis://localhost/0?prefix=a:b", "prefix='a:b'"),
    ],
)
def test_a_url_that_makes_no_sense_is_refused_at_once(url: str, why: str) -> None:
    """Before anything is asked."""
    with pytest.raises(TransportError, match=why):
        open_transport(url)


def test_the_url_s_own_options_are_passed_on(redis_server: Redis) -> None:
    """Except the protocol, which AX reads itself."""
    url = f"{redis_server.url}?prefix=options&protocol=3&decode_responses=yes&client_name=ax-test"
    transport = open_transport(url)
    transport.check()
    assert "ax-test" in [client["name"] for client in redis_server.client().client_list()]
    transport.close()
