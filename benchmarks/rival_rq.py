"""RQ with a worker that does not fork for each job; a result is a stream that its client blocks on."""

from __future__ import annotations

import os
import sys

NEEDS = ("rq", "redis")

if url := os.environ.get("AX_BENCH_REDIS"):
    from redis import Redis
    from rq import Queue

    queue = Queue("bench", connection=Redis.from_url(url))


def nothing(x: int) -> int:
    """Do nothing."""
    return x


def worker(slots: int) -> list[str]:
    """The command of one worker process, which runs one job at a time."""
    asked = ("--worker-class", "rq.worker.SimpleWorker", "--url", os.environ["AX_BENCH_REDIS"], "--quiet")
    return [sys.executable, "-m", "rq.cli", "worker", "bench", *asked]


def call(x: int) -> int:
    """Submit and wait."""
    found = queue.enqueue(nothing, x, result_ttl=600).latest_result(timeout=30)
    assert found is not None
    value: int = found.return_value
    return value
