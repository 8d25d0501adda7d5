"""The loops of workers in a process that runs no tool: due retries, what the queue forgot, and rollbacks, are sent."""

from __future__ import annotations

import logging
import threading

from ..app import AX
from ..clock import SECOND
from ..errors import PolicyError
from ..store.ready import Ready, Search
from .rollbacks import Rollbacks

ROUND = 0.5
PATIENCE = 5.0
"""Seconds that a job gets to be fetched before it is taken for lost and sent again; doubled each time."""
LONGEST = 60.0
MOST = 1000
"""Tasks in one look; where there are more, the next round goes on behind them."""
log = logging.getLogger("ax")


class Scheduler:
    """Sends what is ready and nobody has begun; leases, approvals and doubts are watched as in every process.

    Raises:
        PolicyError: the AX has no queue.
    """

    def __init__(self, ax: AX) -> None:
        if ax._core.queue is None:
            raise PolicyError(
                "this AX has no queue: AX(…, queue='redis://…') or AX_QUEUE says where tasks go"
            )
        self._core = ax._core
        self._stopping = threading.Event()
        self._rollbacks = Rollbacks(ax._core)
        self._search = Search(MOST)
        self._sent: dict[str, tuple[float, float]] = {}
        self._sending: dict[str, tuple[float, float]] = {}

    def run(self) -> None:
        """Rounds until :meth:`stop`.

        Raises:
            PolicyError: a module of the tools cannot be imported.
            StoreError: the store cannot be opened.
        """
        self._core.load()
        self._core.wiring("default")
        log.info("scheduler %s: sends what is ready", self._core.owner)
        while not self._stopping.wait(ROUND):
            try:
                self.round()
                self._rollbacks.round()
            except Exception as error:
                self._core.hooks.complain("the scheduler could not reach the store", error)

    def stop(self) -> None:
        """No further round. For any thread."""
        self._stopping.set()
        self._rollbacks.close()

    def round(self) -> int:
        """Send what is ready, or the next thousand of it; how many were sent."""
        core, post = self._core, self._core.post
        assert post is not None
        now, at = core.clock.monotonic(), core.clock.now()
        db = core.wiring("default").db
        sent = 0

        def send(row: Ready) -> bool:
            nonlocal sent
            due, pause = self._sent.get(row.id) or (now + _left(row.created_at, row.due_at, at), PATIENCE)
            if due <= now:
                if not post.offer(row):
                    return True
                sent += 1
                due, pause = now + pause, min(LONGEST, 2 * pause)
            self._sending[row.id] = (due, pause)
            return True

        self._search.look(db, at, send)
        if not self._search.midway:  # what was not found any more is over
            self._sent, self._sending = self._sending, {}
        return sent


def _left(created_at: int, due_at: int | None, now: int) -> float:
    """What is left of the patience with a job that its own client has sent; a retry nobody has sent yet."""
    return 0.0 if due_at is not None else max(0.0, PATIENCE - (now - created_at) / SECOND)
