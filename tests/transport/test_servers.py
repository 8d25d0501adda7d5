"""Servers of the tests' own: they start, stop, lose their data and stand still as a test says."""

from __future__ import annotations

import pytest

from support.servers.process import find
from support.servers.redis import Redis

redis = pytest.importorskip("redis")


def test_a_restarted_server_has_its_data_or_not_as_the_test_says() -> None:
    with Redis() as server:
        client = server.client()
        client.set("a", "1")
        server.restart()
        assert client.get("a") == "1"
        server.restart(killed=True)
        assert client.get("a") == "1"
        server.restart(data=False)
        assert client.get("a") is None


def test_a_paused_server_keeps_its_connections_and_answers_nothing() -> None:
    with Redis() as server:
        client = server.client(socket_timeout=0.2, retry=None)
        client.ping()
        server.pause()
        with pytest.raises((redis.ConnectionError, redis.TimeoutError)):
            client.ping()
        server.resume()
        assert client.ping()


def test_a_missing_program_is_a_skip_here_and_a_failure_in_ci(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CI", raising=False)
    with pytest.raises(pytest.skip.Exception, match="no-such-server"):
        find(("no-such-server",))
    monkeypatch.setenv("CI", "true")
    with pytest.raises(pytest.fail.Exception, match="no-such-server"):
        find(("no-such-server",))
