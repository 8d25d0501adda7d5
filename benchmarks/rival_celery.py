"""Celery on Redis with a pool of threads; its result backend subscribes to each result."""

from __future__ import annotations

import os
import sys
from typing import Any

NEEDS = ("celery", "redis")

if url := os.environ.get("AX_BENCH_REDIS"):
    from celery import Celery

    app = Celery("bench", broker=url, backend=url)
    app.conf.update(task_acks_late=True, worker_prefetch_multiplier=4, result_expires=600)

    @app.task(name="nothing")
    def nothing(x: int) -> int:
        """Do nothing."""
        return x


def worker(slots: int) -> list[str]:
    """The command of one worker process."""
    more = ("--pool", "threads", "--concurrency", str(slots), "--loglevel", "WARNING")
    lean = ("--without-gossip", "--without-mingle", "--without-heartbeat")
    return [sys.executable, "-m", "celery", "-A", f"{__name__}:app", "worker", *more, *lean]


def send(x: int) -> Any:
    """Submit: its result consumer is not for many threads at once."""
    return nothing.delay(x)


def wait(sent: Any) -> Any:
    """Wait for what was submitted."""
    return sent.get(timeout=30, interval=0.001)
