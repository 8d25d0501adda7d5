"""A worker: fetches no more than it has room for, runs it, and takes it off the queue once the outcome is committed."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Sequence
from functools import partial

from ..app import AX
from ..errors import PolicyError
from ..model import TaskRow
from ..ports import Delivery, Source, checked_name
from ..states import State
from .acks import Acks
from .lifespan import Lifespan, living
from .running import Begun, Running
from .slots import Slots
from .upkeep import Upkeep

FETCH_SECONDS = 1.0
TOGETHER_SECONDS = 0.005
"""Where more is waiting than there is room for, the next ones are fetched together: after so long at most."""
RECYCLED = 75
"""Exit code of a worker whose threads hang in tools: it wants to be started anew."""
FENCED = 70
"""Exit code of a worker that could not renew its leases: whoever restarts it finds nothing half done by it."""
Taken = tuple[str, str, Delivery | None]
"""A task, its namespace, and what the queue handed out for it."""
log = logging.getLogger("ax")


class Worker:
    """Runs the tasks of one AX until it is told to stop.

    Args:
        concurrency: tasks at the same time.
        queues: which queues it fetches from.
        drain: seconds that running tasks get to end once it is told to stop.
        lifespan: makes a context manager, sync or async, that is entered before the first task and left after the
            last; the mapping that it yields is ``current().resources`` in every tool.

    Raises:
        PolicyError: the AX has no queue, or a queue cannot be called so.
    """

    def __init__(
        self,
        ax: AX,
        *,
        concurrency: int = 8,
        queues: Sequence[str] = ("default",),
        drain: float = 30.0,
        lifespan: Lifespan | None = None,
    ) -> None:
        if ax._core.queue is None:
            raise PolicyError(
                "this AX has no queue: AX(…, queue='redis://…') or AX_QUEUE says where tasks come from"
            )
        if concurrency < 1:
            raise PolicyError(f"concurrency={concurrency} must be at least 1")
        try:
            self.queues = tuple(checked_name("queue", name) for name in queues)
        except ValueError as error:
            raise PolicyError(str(error)) from None
        self._ax, self._core, self._drain, self._lifespan = ax, ax._core, drain, lifespan
        self.slots = Slots(concurrency)
        self._running = Running(self._core)
        self._stopping, self._over = threading.Event(), threading.Event()
        self.recycled = False
        self._source: Source | None = None
        self._upkeep: Upkeep | None = None
        self._acks: Acks

    def run(self) -> None:
        """Work until :meth:`stop`, or until it wants to be started anew (``recycled``); then drain.

        Raises:
            PolicyError: a module of the tools cannot be imported.
            StoreError, TransportError: the store or the queue cannot be used at all.
        """
        core = self._core
        core.serving = True
        core.load()
        core.wiring("default")
        assert core.post is not None
        if not core.post.serving:
            raise PolicyError("this AX was used before it became a worker: start the worker first")
        for warning in core.post.transport.check():
            log.warning("%s", warning)
        try:
            with living(self._lifespan, self._ax, self._running.on_loop) as resources:
                core.resources.update(resources)
                self._work_on(core.post.transport.source(core.clock.new_id(), self.queues))
        finally:
            self._running.close()
            self._over.set()

    def _work_on(self, source: Source) -> None:
        core, upkeep = self._core, Upkeep(self._core, source, self.slots, self.begin)
        self._source, self._upkeep, self._acks = source, upkeep, Acks(source)
        core.threads.spawn(upkeep.run)
        threading.Thread(target=self._guard, name="ax-guard", daemon=True).start()
        log.info("worker %s: %d at once, from %s", core.owner, self.slots.size, ", ".join(self.queues))
        try:
            more = False
            while not self._stopping.is_set():
                room = self.slots.wait_free(FETCH_SECONDS)
                if more and room > 0:
                    room = self.slots.wait_more(TOGETHER_SECONDS)
                if room > 0 and not self._stopping.is_set():
                    more = self._fetch(source, upkeep, room) >= room
        finally:
            log.info(
                "worker %s: no more is fetched, %d still run", core.owner, self.slots.size - self.slots.free
            )
            upkeep.close()
            self.slots.wait_empty(self._drain)
            upkeep.stop()
            source.close()

    def _fetch(self, source: Source, upkeep: Upkeep, room: int) -> int:
        """Begin what the queue brings, up to ``room``; how much that was."""
        fetched = source.fetch(room, FETCH_SECONDS)
        if fetched:
            upkeep.fetched = self._core.clock.monotonic()
        if self._stopping.is_set():
            source.give_back(fetched)
            return 0
        by_ns: dict[str, list[Taken]] = {}
        for delivery in fetched:
            by_ns.setdefault(delivery.job.ns, []).append((delivery.job.task_id, delivery.job.ns, delivery))
        for jobs in by_ns.values():
            self.begin(jobs)
        return len(fetched)

    def stop(self) -> None:
        """Fetch nothing more; :meth:`run` returns once what runs has ended, or the drain has. For any thread."""
        self._stopping.set()

    def close(self) -> None:
        """Close the AX; the tasks of bodies that never ended are classified by whoever looks next."""
        self._core.close(drain=0.0)

    @property
    def stopping(self) -> bool:
        """It was told to stop."""
        return self._stopping.is_set()

    @property
    def seconds_since_poll(self) -> float | None:
        """How long ago the queue last answered; None: it never did."""
        if self._source is None:
            return None
        return max(0.0, self._core.clock.monotonic() - self._source.last_poll)

    @property
    def leaked(self) -> int:
        """Threads of bodies that were given up and have not ended."""
        return sum(a.given_up for a in self._core.live.all()) if self._source is not None else 0

    def begin(self, jobs: Sequence[Taken]) -> int:
        """Begin tasks of one namespace, each in a slot of its own; how many there are that were not in one already."""
        taken = [job for job in jobs if self._take(*job)]
        if taken:
            self._core.threads.spawn(partial(self._work, taken))
        return len(taken)

    def _take(self, task_id: str, ns: str, delivery: Delivery | None) -> bool:
        if self.slots.take(task_id, delivery):
            return True
        if delivery is not None and self._is_double(delivery):
            self._acks.done(delivery._replace(job=delivery.job._replace(reply_to=None)))
        return False

    def _is_double(self, delivery: Delivery) -> bool:
        """Whether it is another entry than the one whose task is in a slot: that one is kept until it is done."""
        return all(delivery.receipt != held.receipt for held in self.slots.deliveries)

    def _work(self, taken: Sequence[Taken]) -> None:
        ns = taken[0][1]
        try:
            begun = self._running.claim([task_id for task_id, _, _ in taken], ns)
        except Exception as error:
            # The store is away: the jobs stay with this worker until they are reclaimed, or the tasks are looked for.
            self._core.hooks.complain(f"task {taken[0][0]} could not be run", error)
            for task_id, _, _ in taken:
                self.slots.give(task_id)
            return
        each = [partial(self._see, job, found) for job, found in zip(taken, begun, strict=True)]
        for see in each[1:]:
            self._core.threads.spawn(see)
        each[0]()

    def _see(self, job: Taken, begun: Begun) -> None:
        self._running.see(begun, job[1], partial(self._over_with, job))

    def _over_with(self, job: Taken, row: TaskRow | None, certain: bool) -> None:
        task_id, _, delivery = job
        with self.slots.kept(task_id):
            if not certain:
                return  # the job stays with this worker until it is reclaimed, or the task is looked for
            if delivery is not None:
                self._acks.done(delivery)
            if (
                row is not None
                and row.state == State.RETRY_WAIT
                and row.due_at is not None
                and not row.attempt_open
            ):
                assert self._upkeep is not None
                self._upkeep.retry(row, delivery.job.reply_to if delivery is not None else None)

    def _guard(self) -> None:
        """End the process before a lease of its own can have expired: nobody must act under a claim that is over.

        And have it started anew when as many threads hang in bodies that were given up as may run.
        """
        core = self._core
        margin = 0.8 * core.settings.lease
        while not self._over.wait(core.settings.heartbeat / 4):
            now, renewed = core.clock.monotonic(), core.renewed
            if any(now - max(a.since, renewed) > margin for a in core.live.all() if not a.given_up):
                log.critical("worker %s could not renew its leases for %.0f s: it ends", core.owner, margin)
                os._exit(FENCED)
            if not self.recycled and self.leaked >= self.slots.size:
                self.recycled = True
                log.error(
                    "worker %s: %d threads hang in tools that were given up: it ends", core.owner, self.leaked
                )
                self.stop()
