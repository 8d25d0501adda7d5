"""A worker: fetches no more than it has room for, runs it, and takes it off the queue once the outcome is committed."""

from __future__ import annotations

import logging
import threading
from collections.abc import Sequence

from ..app import AX
from ..errors import PolicyError
from ..names import checked_name
from ..ports import Limiter, Source
from .acks import Acks
from .bench import Bench
from .cells import Cells
from .fetching import Fetching
from .guard import Guard
from .lifespan import Lifespan, living
from .lines import Lines
from .pace import Pace
from .running import Running
from .slots import Slots
from .target import Program
from .upkeep import Upkeep

INTERRUPT_SECONDS = 10.0
"""What killed bodies get to be recorded, once the drain is over."""
log = logging.getLogger("ax")


class Worker:
    """Runs the tasks of one AX until it is told to stop.

    Args:
        concurrency: tasks at the same time.
        queues: which queues it fetches from, the first named first.
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
        self._running = Running(self._core, self._cells, self.queues)
        self._stopping = threading.Event()
        self._guard = Guard(self._core, concurrency, self.stop)
        self._source: Source | None = None
        self._lines: Lines | None = None

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
        self._check_tools(limiter)
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
            self._guard.end()

    def _check_tools(self, limiter: Limiter | None) -> None:
        for tool in self._core.registry:
            if tool.policy.isolation == "process" and self._cells is None:
                raise PolicyError(
                    f"tool {tool.name!r} has isolation='process': this worker must know how its program is started, "
                    "as `axd worker` does; Worker(ax, program=Program('module:name'))"
                )
            if limiter is None and (tool.policy.rate or tool.policy.concurrency):
                raise PolicyError(f"tool {tool.name!r} has limits, and this queue keeps none across workers")
            if limiter is not None and tool.policy.rate:
                limiter.check()

    def _work_on(self, source: Source, limiter: Limiter | None) -> None:
        core = self._core
        bench = Bench(core, self._running, self.slots, self._pace, Acks(source))
        upkeep = Upkeep(core, source, self.slots, bench.begin, lambda: bench.room, self.queues)
        self._source, bench.retry = source, upkeep.retry
        if limiter is not None:
            lines = Lines(limiter, core.clock, core.owner, core.settings.lease, bench.begin, upkeep.ring)
            self._lines = bench.lines = upkeep.lines = lines
        core.threads.spawn(upkeep.run)
        self._guard.begin()
        log.info("worker %s: %d at once, from %s", core.owner, self.slots.size, ", ".join(self.queues))
        try:
            Fetching(core, source, bench, self.slots, self._pace, upkeep).run(self._stopping)
        finally:
            log.info(
                "worker %s: no more is fetched, %d still run", core.owner, self.slots.size - self.slots.free
            )
            upkeep.close()
            if self._lines is not None:
                source.give_back(self._lines.leave())
            drained = self.slots.wait_empty(self._drain)
            if not drained and self._cells is not None and self._cells.interrupt():
                self.slots.wait_empty(INTERRUPT_SECONDS)
            upkeep.stop()
            source.close()

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
    def recycled(self) -> bool:
        """It ended, or ends, because its threads hang in tools."""
        return self._guard.recycled

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
        return self._guard.leaked
