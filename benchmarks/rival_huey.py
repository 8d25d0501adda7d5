"""Huey on Redis with blocking reads, and told of its results."""

from __future__ import annotations

import os
import sys

NEEDS = ("huey", "redis")

if url := os.environ.get("AX_BENCH_REDIS"):
    from huey import RedisHuey

    huey = RedisHuey("bench", url=url, blocking=True, notify_result=True)

    @huey.task()
    def nothing(x: int) -> int:
        """Do nothing."""
        return x


def worker(slots: int) -> list[str]:
    """The command of one worker process."""
    more = ("--workers", str(slots), "--worker-type", "thread", "--quiet")
    return [sys.executable, "-m", "huey.bin.huey_consumer", f"{__name__}.huey", *more]


def call(x: int) -> int:
    """Submit and wait."""
    found: int = nothing(x).get(blocking=True, timeout=30, max_delay=0.001)
    return found
