"""arq on Redis: its worker and its client look every millisecond."""

from __future__ import annotations

import asyncio
import os
import sys
from typing import Any

NEEDS = ("arq",)
LOOK = 0.001


async def nothing(context: Any, x: int) -> int:
    """Do nothing."""
    return x


if url := os.environ.get("AX_BENCH_REDIS"):
    from arq import create_pool
    from arq.connections import RedisSettings

    pools: list[Any] = []

    class WorkerSettings:
        """What the worker is told."""

        functions = [nothing]
        redis_settings = RedisSettings.from_dsn(url)
        poll_delay = LOOK
        max_jobs = int(os.environ.get("AX_BENCH_SLOTS", "8"))
        keep_result = 600


def worker(slots: int) -> list[str]:
    """The command of one worker process."""
    return [sys.executable, "-m", "arq", f"{__name__}.WorkerSettings"]


async def call(x: int) -> int:
    """Submit and wait."""
    if not pools:
        pools.append(await create_pool(WorkerSettings.redis_settings))
    sent = await pools[0].enqueue_job("nothing", x)
    # Not its own ``result``: between two of its looks a job may be in no place, and that is taken for lost.
    while (found := await sent.result_info()) is None:
        await asyncio.sleep(LOOK)
    value: int = found.result
    return value
