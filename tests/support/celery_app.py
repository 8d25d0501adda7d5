"""A Celery app as a user has one, on the broker that the environment names; what it runs it writes into a file."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

from celery import Celery

from ax_core.ports import Job
from ax_core.transport import open_transport
from ax_core.transport.celery import attach

app = Celery("shop", broker=os.environ.get("AX_TEST_BROKER", "memory://"))
app.conf.broker_transport_options = {
    "visibility_timeout": 1,
    "unacked_restore_interval": 1,
    "unacked_restore_throttle": 1,
}
app.conf.broker_connection_retry_on_startup = True
app.conf.worker_prefetch_multiplier = 1


def opened(where: str) -> object:
    """A transport on another broker."""
    app.conf.broker_url = where
    return open_transport("celery://support.celery_app:app")


def run(job: Job) -> None:
    """As AX would: on record first, then, where the test says, busy for long; then the client is woken."""
    folder = Path(os.environ["AX_TEST_FOLDER"])
    with (folder / "ran.jsonl").open("a") as ran:
        ran.write(json.dumps([*job, os.getpid()]) + "\n")
    while (folder / f"hold-{job.task_id}").exists():
        time.sleep(0.01)
    if job.reply_to is not None:
        open_transport("celery://support.celery_app:app").wake(job.reply_to, [job.task_id])


attach(app, run)
