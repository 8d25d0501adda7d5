"""Dramatiq on Redis with its result backend, which blocks for a result."""

from __future__ import annotations

import os
import sys

NEEDS = ("dramatiq", "redis")

if url := os.environ.get("AX_BENCH_REDIS"):
    import dramatiq
    from dramatiq.brokers.redis import RedisBroker
    from dramatiq.results import Results
    from dramatiq.results.backends.redis import RedisBackend

    broker = RedisBroker(url=url)
    broker.add_middleware(Results(backend=RedisBackend(url=url)))
    dramatiq.set_broker(broker)

    @dramatiq.actor(store_results=True)
    def nothing(x: int) -> int:
        """Do nothing."""
        return x


def worker(slots: int) -> list[str]:
    """The command of one worker process."""
    return [sys.executable, "-m", "dramatiq", __name__, "--processes", "1", "--threads", str(slots)]


def call(x: int) -> int:
    """Submit and wait."""
    found: int = nothing.send(x).get_result(block=True, timeout=30_000)
    return found
