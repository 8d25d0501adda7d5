"""A Celery app whose workers run the tasks of the workshop, on the broker that the environment names."""

from __future__ import annotations

import os

from celery import Celery

from ax_core.worker.celery import run_tasks_of

QUEUE = "celery://support.celery_shop:app"
app = Celery("workshop", broker=os.environ.get("AX_TEST_BROKER", "memory://"))
app.conf.broker_transport_options = {
    "visibility_timeout": 2,
    "unacked_restore_interval": 1,
    "unacked_restore_throttle": 1,
}
app.conf.broker_connection_retry_on_startup = True
app.conf.worker_prefetch_multiplier = 1
run_tasks_of(app, "support.workshop:make", factory=True)
