"""A Redis server of the test's own."""

from __future__ import annotations

import os
from typing import Any

import pytest

from support.servers.process import Server


class Redis(Server):
    """redis-server with its append-only file on; ``given`` are lines of its configuration.

    AX_REDIS_SERVER names another program, of another version.
    """

    programs = tuple(filter(None, (os.environ.get("AX_REDIS_SERVER"), "redis-server", "valkey-server")))

    def __init__(self, **given: str) -> None:
        super().__init__()
        self._given = {"appendonly": "yes", "appendfsync": "always", "save": "", **given}

    @property
    def url(self) -> str:
        """Where clients find it."""
        return f"redis://127.0.0.1:{self.port}/0"

    def command(self) -> list[str]:
        """In the foreground, on loopback."""
        fixed = {"bind": "127.0.0.1", "port": str(self.port), "dir": str(self.folder), "daemonize": "no"}
        lines = {**fixed, **self._given}.items()
        words = [[f"--{name.replace('_', '-')}", *(value.split() or [""])] for name, value in lines]
        return [self.program, *(word for line in words for word in line)]

    def answers(self) -> bool:
        """PING."""
        with self.client(socket_timeout=1, retry_on_timeout=False) as client:
            return bool(client.ping())

    def client(self, **given: Any) -> Any:
        """A client of its own for the test."""
        redis = pytest.importorskip("redis")
        return redis.Redis.from_url(self.url, decode_responses=True, **given)
