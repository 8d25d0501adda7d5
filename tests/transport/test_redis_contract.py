"""The Redis transport keeps the contract of transports."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ax_core.testing.transport import TransportContract
from support.servers.redis import Redis


class TestRedis(TransportContract):
    @pytest.fixture
    def where(self, redis_url: str) -> str:
        return redis_url

    @pytest.fixture
    def forgets(self, redis_server: Redis) -> Callable[[], None]:
        return lambda: redis_server.client().flushall()

    @pytest.fixture
    def restarts(self, redis_server: Redis) -> Callable[[bool], None]:
        return lambda data: redis_server.restart(data=data, killed=not data)

    @pytest.fixture
    def stands_still(self, redis_server: Redis) -> Callable[[bool], None]:
        return lambda yes: redis_server.pause() if yes else redis_server.resume()

    @pytest.fixture
    def garbage(self, redis_server: Redis, redis_url: str) -> Callable[[], int]:
        prefix = redis_url.rpartition("=")[2]
        entries: list[dict[bytes | str, bytes | str]] = [
            {"task": "no version"},
            {"v": "1", "n": "no task"},
            {"v": "1", "t": b"\x80\x04\x95", "n": "a pickle"},
            {"v": "99", "t": "from the future", "n": "tenant"},
            {"v": "1", "t": "x" * 5000, "n": "tenant"},
            {"v": "1", "t": "", "n": "tenant"},
            {"v": "1", "t": "new\nline", "n": "tenant"},
            {"": ""},
            {"v": "1", "t": "many", "n": "fields", **{str(i): "x" for i in range(200)}},
        ]

        def put() -> int:
            client = redis_server.client()
            for entry in entries:
                client.xadd(f"{{{prefix}}}:queue:default:1", entry)
            return len(entries)

        return put
