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
from ..ports import Delivery, Limiter, Source, checked_name
from ..states import State
from .acks import Acks
from .cells import Cells
from .lifespan import Lifespan, living
from .lines import Lines, Waiting
from .pace import Pace
from .running import Begun, Running
from .slots import Slots
from .target import Program
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
INTERRUPT_SECONDS = 10.0
"""What killed bodies get to be recorded, once the drain is over."""
log = logging.getLogger("ax")


class Worker:
    """Runs the tasks of one AX until it is told to stop.

    Args:
        concurrency: tasks at the same time.
        queues: which queues it fetches from.
        drain: seconds that running tasks get to end once it is told to stop.
        max_rate: tasks that it begins per second at most; None: as many as there is room for.
        program: how to start processes for tools with ``isolation="process"``: the same AX, by its module and name.
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
        max_rate: float | None = None,
        program: Program | None = None,
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
        self._pace = Pace(max_rate, self._core.clock)
        self._cells = None if program is None else Cells(self._core, program)
        self._running = Running(self._core, self._cells)
        self._stopping, self._over = threading.Event(), threading.Event()
        self.recycled = False
        self._source: Source | None = None
        self._upkeep: Upkeep | None = None
        self._lines: Lines | None = None
        self._acks: Acks

    def run(self) -> None:
        """Work until :meth:`stop`, or until it wants to be started anew (``recycled``); then drain.

        Raises:
            PolicyError: a module of the tools cannot be imported, or one asks for what this worker cannot keep.
            StoreError, TransportError: the store or the queue cannot be used at all.
        """
        core = self._core
        core.serving = True
        core.load()
        if self._cells is not None:
            core.isolated = self._cells.run
        core.wiring("default")
        assert core.post is not None
        if not core.post.serving:
            raise PolicyError("this AX was used before it became a worker: start the worker first")
        limiter = core.post.transport.limiter()
        self._check_tools(limiter is not None)
        for warning in core.post.transport.check():
            log.warning("%s", warning)
        try:
            with living(self._lifespan, self._ax, self._running.on_loop) as resources:
                core.resources.update(resources)
                self._work_on(core.post.transport.source(core.clock.new_id(), self.queues), limiter)
        finally:
            if self._cells is not None:
                self._cells.close()
            self._running.close()
            self._over.set()

    def _check_tools(self, limits: bool) -> None:
        for tool in self._core.registry:
            if tool.policy.isolation == "process" and self._cells is None:
                raise PolicyError(
                    f"tool {tool.name!r} has isolation='process': this worker must know how its program is started, "
                    "as `axd worker` does; Worker(ax, program=Program('module:name'))"
                )
            if (tool.policy.rate or tool.policy.concurrency) and not limits:
                raise PolicyError(f"tool {tool.name!r} has limits, and this queue keeps none across workers")

    def _work_on(self, source: Source, limiter: Limiter | None) -> None:
        core, upkeep = self._core, Upkeep(self._core, source, self.slots, self.begin, self._room)
        self._source, self._upkeep, self._acks = source, upkeep, Acks(source)
        if limiter is not None:
            lease = core.settings.lease
            self._lines = upkeep.lines = Lines(
                limiter, core.clock, core.owner, lease, self.begin, upkeep.ring
            )
        core.threads.spawn(upkeep.run)
        threading.Thread(target=self._guard, name="ax-guard", daemon=True).start()
        log.info("worker %s: %d at once, from %s", core.owner, self.slots.size, ", ".join(self.queues))
        try:
            more = False
            while not self._stopping.is_set():
                if self.slots.wait_free(FETCH_SECONDS) <= 0 or self._stopping.wait(self._pace.wait):
                    continue
                if self._lines is not None:  # they have waited longer than what is still in the queue
                    self._lines.advance(self._room())
                if more:
                    self.slots.wait_more(TOGETHER_SECONDS)
                if (room := self._room()) > 0:
                    more = self._fetch(source, upkeep, room) >= room
        finally:
            log.info(
                "worker %s: no more is fetched, %d still run", core.owner, self.slots.size - self.slots.free
            )
            upkeep.close()
            if self._lines is not None:
                source.give_back(self._lines.leave())
            if not self.slots.wait_empty(self._drain) and self._cells is not None:
                self._cells.interrupt()
                self.slots.wait_empty(INTERRUPT_SECONDS)
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
    def in_line(self) -> int:
        """Tasks that wait here for the limits of their tools."""
        return 0 if self._lines is None else len(self._lines)

    @property
    def leaked(self) -> int:
        """Threads of bodies that were given up and have not ended."""
        return sum(a.given_up for a in self._core.live.all()) if self._source is not None else 0

    def begin(self, jobs: Sequence[Taken], admitted: bool = False) -> int:
        """Begin tasks of one namespace, each in a slot of its own; how many there are that had none already.

        Args:
            admitted: the limits of their tools let them pass.
        """
        taken = [job for job in jobs if self._take(*job)]
        if taken:
            self._pace.spend(len(taken))
            self._core.threads.spawn(partial(self._work, taken, admitted))
        return len(taken)

    def _room(self) -> int:
        """How many tasks may be begun now."""
        return self._pace.room(max(0, self.slots.free))

    def _take(self, task_id: str, ns: str, delivery: Delivery | None) -> bool:
        waits = self._lines is not None and task_id in self._lines
        if not waits and self.slots.take(task_id, delivery):
            return True
        if delivery is not None and self._is_double(delivery):
            self._drop(delivery)
        return False

    def _drop(self, delivery: Delivery) -> None:
        """Take it off the queue; nobody is told, for nothing has happened."""
        self._acks.done(delivery._replace(job=delivery.job._replace(reply_to=None)))

    def _is_double(self, delivery: Delivery) -> bool:
        """Whether it is another entry than the one whose task is in a slot: that one is kept until it is done."""
        held = self.slots.deliveries + ([] if self._lines is None else self._lines.deliveries)
        return all(delivery.receipt != each.receipt for each in held)

    def _work(self, taken: Sequence[Taken], admitted: bool) -> None:
        ns = taken[0][1]
        try:
            found = self._running.look([task_id for task_id, _, _ in taken], ns)
        except Exception as error:
            self._away(taken, error)
            return
        passed = [(j, f) for j, f in zip(taken, found, strict=True) if admitted or self._admits(j, f)]
        apart = [each for each in passed if _isolated(each[1])]
        rest = [each for each in passed if not _isolated(each[1])]
        each = [partial(self._see_apart, job, seen) for job, seen in apart]
        try:
            begun = self._running.claim([seen for _, seen in rest], ns)
        except Exception as error:
            self._away([job for job, _ in rest], error)
        else:
            each += [partial(self._see, job, seen) for (job, _), seen in zip(rest, begun, strict=True)]
        for see in each[1:]:
            self._core.threads.spawn(see)
        if each:
            each[0]()

    def _away(self, jobs: Sequence[Taken], error: Exception) -> None:
        """The store is away: the jobs stay with this worker until they are reclaimed, or the tasks are looked for."""
        for task_id, _, _ in jobs:
            self._core.hooks.complain(f"task {task_id} could not be run", error)
            self._let_go(task_id)

    def _admits(self, job: Taken, found: Begun) -> bool:
        """Whether the limits of its tool let a task pass; else it stands in line, and costs no slot."""
        tool = None if found.runner is None else found.runner.tool
        if tool is None or self._lines is None or not (tool.policy.rate or tool.policy.concurrency):
            return True
        turn = self._lines.turn(tool, Waiting(*job))
        if turn == "now":
            return True
        self._pace.spend(-1)
        if turn == "never" and job[2] is not None:
            self._drop(job[2])  # too many stand there: it is found in the database again
        self.slots.give(job[0])
        return False

    def _see(self, job: Taken, begun: Begun) -> None:
        self._running.see(begun, job[1], partial(self._over_with, job, begun))

    def _see_apart(self, job: Taken, found: Begun) -> None:
        try:
            self._running.attempt(found, job[1], partial(self._over_with, job, found))
        except Exception as error:  # nothing was claimed
            self._core.hooks.complain(f"task {job[0]} could not be run", error)
            self._let_go(job[0])

    def _over_with(self, job: Taken, before: Begun, row: TaskRow | None, certain: bool) -> None:
        task_id, _, delivery = job
        # If it is not certain, the job stays until it is reclaimed, or the task is looked for.
        if certain and delivery is not None:
            self._acks.done(delivery)
        self._let_go(task_id)
        # Only now: this worker takes a job for what is in one of its slots for a double.
        if certain and row is not None and before.row is not None and _comes_again(before.row, row):
            assert self._upkeep is not None
            self._upkeep.retry(row, delivery.job.reply_to if delivery is not None else None)

    def _let_go(self, task_id: str) -> None:
        if self._lines is not None:
            self._lines.over(task_id)
        self.slots.give(task_id)

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


def _isolated(found: Begun) -> bool:
    return found.runner is not None and found.runner.tool.policy.isolation == "process"


def _comes_again(before: TaskRow, row: TaskRow) -> bool:
    """Whether a job must be sent for the next attempt: the one of this attempt is done."""
    if row.attempt_open and row.effect != "read":
        return False
    return (row.state == State.RETRY_WAIT and row.due_at is not None) or (
        row.state == State.QUEUED and row.attempt > before.attempt
    )
