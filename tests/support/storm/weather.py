"""What a plan's blows do to the servers, the wires and the workers of one storm; and how each is over."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from support.servers.redis import Redis
from support.storm.crew import Crew
from support.storm.plan import Blow
from support.storm.proxy import Proxy

SLOW = 0.05
Over = Callable[[], None]


class Weather:
    """Strikes.

    Args:
        database: the server, or None for a file.
        to_redis, to_database: the wires that clients and workers reach them by.
    """

    def __init__(
        self,
        crew: Crew,
        redis: Redis,
        to_redis: Proxy,
        database: Any = None,
        to_database: Proxy | None = None,
    ) -> None:
        self._crew, self._redis, self._database = crew, redis, database
        self._wires = {"redis": to_redis, "db": to_database}

    def strike(self, blow: Blow) -> Over:
        """Let it happen; what ends it, to be called once its time is over."""
        what, _, how = blow.kind.partition(" ")
        if what in self._wires:
            return self._at_server(what, how)
        if what == "stop":
            return self._crew.stop(blow.who).resume
        (self._crew.kill if what == "kill" else self._crew.terminate)(blow.who)
        return _nothing

    def _at_server(self, what: str, how: str) -> Over:
        server, wire = self._redis if what == "redis" else self._database, self._wires[what]
        assert wire is not None
        if how == "cut":
            wire.cut()
        elif how == "slow":
            wire.slow(SLOW)
            return lambda: wire.slow(0.0)
        elif how == "silent":
            wire.silence()
            return wire.speak
        elif how == "flushed":
            with self._redis.client() as client:
                client.flushall()
        else:
            (server.stop if how == "restarted" else server.kill)()
            return server.start if how != "emptied" else server.begin_anew
        return _nothing


def _nothing() -> None:
    pass
