"""A worker: fetches no more than it has room for, runs it, and takes it off the queue once the outcome is committed."""

from __future__ import annotations

import logging
import threading
from collections.abc import Sequence

from ..app import AX
from ..errors import PolicyError
from ..ports import Limiter
from .cells import Cells
from .crew import Crew, manned
from .guard import Guard
from .lifespan import Lifespan, living
from .pace import Pace
from .rollbacks import Rollbacks
from .running import Running
from .target import Program

INTERRUPT_SECONDS = 10.0
"""What killed bodies get to be recorded, once the drain is over."""
log = logging.getLogger("ax")


class Worker:
    """Runs the tasks of one AX until it is told to stop.

    Args:
        concurrency: tasks at the same time.
        queues: which queues it fetches from, the first named first; ``mail:2`` has two slots of its own, which no other
            queue can take, and takes none of the others'.
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
        self._ax, self._core, self._drain, self._lifespan = ax, ax._core, drain, lifespan
        crews = manned(queues, concurrency)
        self.queues = tuple(name for names, _ in crews for name in names)
        self.concurrency = sum(size for _, size in crews)
        pace = Pace(max_rate, self._core.clock)
        self._cells = None if program is None else Cells(self._core, program)
        self._running = Running(self._core, self._cells, self.queues)
        self._crews = [Crew(self._core, self._running, pace, names, size) for names, size in crews]
        self._stopping = threading.Event()
        self._guard = Guard(self._core, self.concurrency, self.stop)
        self._failed: Exception | None = None

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
            with living(self._lifespan, self._ax, self._running.loop.run) as resources:
                core.resources.update(resources)
                self._work(limiter)
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

    def _work(self, limiter: Limiter | None) -> None:
        core, crews = self._core, self._crews
        for number, crew in enumerate(crews):
            crew.begin(limiter, Rollbacks(core) if number == 0 else None)
        self._guard.begin()
        log.info("worker %s: %d at once, from %s", core.owner, self.concurrency, ", ".join(self.queues))
        fetching = [threading.Thread(target=self._fetch, args=(crew,), daemon=True) for crew in crews[1:]]
        for each in fetching:
            each.start()
        try:
            self._fetch(crews[0])
            for each in fetching:
                each.join()
        finally:
            self.stop()
            self._wind_up()
        if self._failed is not None:
            raise self._failed

    def _fetch(self, crew: Crew) -> None:
        """Until the worker stops; and where one crew cannot go on, the others must not hide it."""
        try:
            crew.fetch(self._stopping)
        except Exception as error:
            self._failed = error
            self.stop()

    def _wind_up(self) -> None:
        core, clock = self._core, self._core.clock
        log.info("worker %s: no more is fetched, %d still run", core.owner, self.running)
        for crew in self._crews:
            crew.close()
        end = clock.monotonic() + self._drain
        if not self._emptied(end) and self._cells is not None and self._cells.interrupt():
            self._emptied(clock.monotonic() + INTERRUPT_SECONDS)
        self._recorded(end)
        for crew in self._crews:
            crew.end()

    def _recorded(self, end: float) -> None:
        """Give ends that the store did not take the rest of the drain; the watch goes on writing them."""
        pause = threading.Event()
        while self._core.live.unrecorded and self._core.clock.monotonic() < end:
            pause.wait(0.05)

    def _emptied(self, end: float) -> bool:
        """Whether nothing runs any more, at this monotonic time at the latest."""
        return all([c.slots.wait_empty(max(0.0, end - self._core.clock.monotonic())) for c in self._crews])

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
    def running(self) -> int:
        """How many tasks run."""
        return sum(crew.running for crew in self._crews)

    @property
    def seconds_since_poll(self) -> float | None:
        """How long ago the queue last answered, where there is room for more; None: it never did."""
        asking = [crew for crew in self._crews if crew.slots.free > 0] or self._crews
        silences = [crew.silence for crew in asking]
        return None if None in silences else max(each for each in silences if each is not None)

    @property
    def in_line(self) -> int:
        """Tasks that wait here for the limits of their tools."""
        return sum(crew.in_line for crew in self._crews)

    @property
    def leaked(self) -> int:
        """Threads of bodies that were given up and have not ended."""
        return self._guard.leaked
