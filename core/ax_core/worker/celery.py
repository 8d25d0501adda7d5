"""Celery's workers as AX's: a fleet that is there already runs the tasks, and needs no second kind of worker beside it.

In the module of the Celery app::

    from ax_core.worker.celery import run_tasks_of

    app = Celery("shop", broker="redis://…")
    run_tasks_of(app, "shop:ax")          # where shop.ax = AX(…, queue="celery://shop.jobs:app", imports=[…])
"""

from __future__ import annotations

import atexit
import os
from typing import Any

from ..clock import SECOND
from ..policy import DEFAULT_QUEUE
from ..ports import Job
from ..states import State
from ..transport.celery import TASK, attach
from .running import Running
from .target import load_target


def run_tasks_of(app: Any, target: str, *, factory: bool = False) -> None:
    """Let the workers of a Celery app run the tasks of the AX at ``target``, as :func:`load_target` takes it.

    Each worker process opens it at its first task. A retry is sent again with a countdown. What Celery loses is sent
    again by ``axd scheduler``, of which one should run.
    """
    attach(app, Tasks(app, target, factory))


class Tasks:
    """Runs jobs in whichever process it is called in, on an AX of that process."""

    def __init__(self, app: Any, target: str, factory: bool) -> None:
        self._app, self._target, self._factory = app, target, factory
        self._running: dict[int, Running] = {}

    def __call__(self, job: Job) -> None:
        """Run a job; who waits for it is woken once its outcome is committed."""
        running = self._running.get(os.getpid()) or self._open()
        row = running.run(job.task_id, job.ns)
        post = running.core.post
        if job.reply_to is not None and post is not None:
            post.transport.wake(job.reply_to, [job.task_id])
        if (
            row is not None
            and row.state == State.RETRY_WAIT
            and row.due_at is not None
            and not row.attempt_open
        ):
            wait = max(0.0, (row.due_at - running.core.clock.now()) / SECOND)
            where = {} if job.queue == DEFAULT_QUEUE else {"queue": job.queue}
            self._app.send_task(
                TASK, args=list(job), countdown=wait, ignore_result=True, serializer="json", **where
            )

    def _open(self) -> Running:
        core = load_target(self._target, factory=self._factory)._core
        core.serving = True
        core.load()
        atexit.register(core.close, drain=0.0)
        running = self._running[os.getpid()] = Running(core)
        return running
