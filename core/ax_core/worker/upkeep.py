"""What a worker sees to beside running: due retries, jobs of lost workers, tasks the queue forgot, rollbacks."""

from __future__ import annotations

import heapq
import threading
from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING

from ..app.serve import runner_of
from ..clock import SECOND, Micros
from ..model import TaskRow
from ..ports import NORMAL, Delivery, Job, Source
from ..store.ready import Ready, Search
from .rollbacks import Rollbacks

if TYPE_CHECKING:
    from ..app.core import Core
    from ..dispatch.post import Post
    from .lines import Lines
    from .slots import Slots

ROUND = 0.25
"""Seconds between two rounds at most; a retry that falls due earlier ends the pause."""
FORGOTTEN = 2.0
"""Seconds after which a task that an idle queue did not bring is looked for in the database, and run.

A queue that is never idle is sent it again, after a lease.
"""
LOOKED_AT = 64
"""Tasks in one look; where there are more, or no room for them, the next round goes on behind them.

Also how many a busy worker sends again in a lease.
"""


class Upkeep:
    """One thread per crew of a worker.

    Args:
        begin: begins tasks of one namespace in slots: (task id, namespace, what the queue handed out for it).
        room: how many may be begun now.
        queues: what goes by others is not looked for.
        rollbacks: those of the worker, where these rounds are to see to them.
    """

    def __init__(
        self,
        core: Core,
        source: Source,
        slots: Slots,
        begin: Callable[[Sequence[tuple[str, str, Delivery | None]]], int],
        room: Callable[[], int],
        queues: Collection[str],
        rollbacks: Rollbacks | None = None,
    ) -> None:
        self._core, self._source, self._slots, self._begin, self._room = core, source, slots, begin, room
        self._queues = queues
        self.lines: Lines | None = None
        self._rollbacks = rollbacks
        self._due: list[tuple[Micros, Job]] = []
        self._bell = threading.Condition()
        self._closed = self._stopped = False
        now = core.clock.monotonic()
        self.fetched = now
        self._kept = self._reclaimed = self._looked = self._looked_regardless = now
        self._forgotten, self._waiting = (Search(LOOKED_AT) for _ in range(2))
        self._may_send = 0

    def retry(self, row: TaskRow, reply_to: str | None) -> None:
        """Send a job for a task when its next attempt is due, for whichever worker then has room."""
        job = self._post.job(row, reply_to)._replace(priority=NORMAL)
        with self._bell:
            heapq.heappush(self._due, (row.due_at or 0, job))
            self._bell.notify_all()

    def ring(self) -> None:
        """Something may be due now."""
        with self._bell:
            self._bell.notify_all()

    def run(self) -> None:
        """Rounds until :meth:`stop`."""
        while not self._stopped:
            try:
                self.round()
            except Exception as error:
                if not self._stopped:
                    self._core.hooks.complain("the worker could not reach the store", error)
            with self._bell:
                if not self._stopped:
                    self._bell.wait(self._pause())

    def close(self) -> None:
        """Begin nothing more; what runs is kept on."""
        self._closed = True
        if self._rollbacks is not None:
            self._rollbacks.close()

    def stop(self) -> None:
        """No further round."""
        with self._bell:
            self._stopped = True
            self._bell.notify_all()

    def round(self) -> None:
        """Every duty whose time has come."""
        now, heartbeat = self._core.clock.monotonic(), self._core.settings.heartbeat
        self._send_due()
        if now - self._kept >= heartbeat / 2:
            self._kept = now
            self._source.keep(self._slots.deliveries + ([] if self.lines is None else self.lines.deliveries))
            if self.lines is not None:
                self.lines.keep()
        if self._closed:
            return
        if self.lines is not None:
            self.lines.advance(self._room())
        if now - self._reclaimed >= heartbeat / 2 and (room := self._room()) > 0:
            self._reclaimed = now
            for delivery in self._source.reclaim(2 * heartbeat, room):
                self._begin([(delivery.job.task_id, delivery.job.ns, delivery)])
        self._look_sometimes(now)
        if self._rollbacks is not None:
            self._rollbacks.round()

    def _look_sometimes(self, now: float) -> None:
        lease = self._core.settings.lease
        idle = now - self.fetched >= FORGOTTEN and now - self._looked >= FORGOTTEN
        if (idle or self._forgotten.midway) and self._room() > 0:
            self._looked = now
            self._look(self._forgotten, FORGOTTEN, self._take)
            return
        if now - self._looked_regardless >= lease:
            self._looked_regardless, self._may_send = now, LOOKED_AT
        elif not (self._waiting.midway and self._may_send):
            return
        self._look(self._waiting, lease, self._send_again)

    def _look(self, search: Search, age: float, take: Callable[[Ready], bool]) -> None:
        """Look at some that have waited so long; the next look goes on behind them."""
        now = self._core.clock.now()
        search.look(self._core.db, now, take, before=now - int(age * SECOND))

    def _take(self, row: Ready) -> bool:
        if self._post.queue_of(row.tool) not in self._queues:
            return True
        if self._room() <= 0:
            return False
        self._begin([(row.id, row.ns, None)])
        return True

    def _send_again(self, row: Ready) -> bool:
        # Its slots are never free for long. Who still stands in the queue comes twice, and is dropped the second time:
        # so many a lease and no more, however many stand there.
        if runner_of(self._core, row.tool) is None or self._post.queue_of(row.tool) not in self._queues:
            return True
        if not self._may_send:
            return False
        self._may_send -= 1
        self._post.send(self._post.job(row))
        return True

    @property
    def _post(self) -> Post:
        assert self._core.post is not None
        return self._core.post

    def _send_due(self) -> None:
        now = self._core.clock.now()
        with self._bell:
            due: list[Job] = []
            while self._due and self._due[0][0] <= now:
                due.append(heapq.heappop(self._due)[1])
        for job in due:
            self._post.send(job)

    def _pause(self) -> float:
        pause = ROUND
        if self._due:
            pause = min(pause, (self._due[0][0] - self._core.clock.now()) / SECOND)
        if self.lines is not None and (due := self.lines.due) is not None and self._room() > 0:
            pause = min(pause, due - self._core.clock.monotonic())
        return max(0.001, pause)
