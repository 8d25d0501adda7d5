"""Taskiq on a Redis stream with its result backend, looked at every millisecond."""

from __future__ import annotations

import os
import sys

NEEDS = ("taskiq", "taskiq_redis")

if url := os.environ.get("AX_BENCH_REDIS"):
    from taskiq_redis import RedisAsyncResultBackend, RedisStreamBroker

    broker = RedisStreamBroker(url, consumer_id="0", socket_timeout=600).with_result_backend(
        RedisAsyncResultBackend(url, result_ex_time=600, socket_timeout=600)
    )

    @broker.task
    async def nothing(x: int) -> int:
        """Do nothing."""
        return x


def worker(slots: int) -> list[str]:
    """The command of one worker process."""
    return [
        *(sys.executable, "-m", "taskiq", "worker", f"{__name__}:broker", "--workers", "1"),
        *("--max-async-tasks", str(slots), "--log-level", "WARNING"),
    ]


async def call(x: int) -> int:
    """Submit and wait."""
    sent = await nothing.kiq(x)
    found = await sent.wait_result(check_interval=0.001, timeout=30)
    value: int = found.return_value
    return value
