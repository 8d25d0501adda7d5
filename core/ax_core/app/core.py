"""What the namespaces of one AX share: made at once, opened at first use, made anew after a fork."""

from __future__ import annotations

import _thread
import asyncio
import os
from collections.abc import Callable, Collection
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

from ..clock import Clock, Micros, SystemClock, micros
from ..codec import Codec
from ..control import Tell
from ..dispatch import RunScope, Waiters, Wiring
from ..dispatch.hints import Hints
from ..dispatch.live import Live
from ..dispatch.post import Post
from ..dispatch.waiters import told
from ..errors import Closed, PolicyError, StoreError
from ..hooks import Hooks
from ..model import ToolRow
from ..owners import owner_id
from ..registry import Registry, Tool
from ..scheduler import anything_lost, sweep
from ..settings import Settings
from ..store import Store, store_of, tools
from ..store.database import announce
from ..store.opening import default_url
from ..threads import Threads
from .watch import Watch

if TYPE_CHECKING:
    from sqlalchemy import Engine

    from ..dispatch.wiring import Isolated
    from .steps import Steps

_abandoned: list[Any] = []
"""A parent's connections in a forked child: never used, and never closed, for closing would drop the parent's locks."""


class Core:
    """The parts, and their life."""

    def __init__(
        self,
        url: str | None,
        engine: Engine | None,
        settings: Settings,
        clock: Clock | None,
        queue: str | None = None,
        imports: Collection[str] = (),
    ) -> None:
        self.url, self.engine, self.settings = url, engine, settings
        self.queue, self.imports = queue or os.environ.get("AX_QUEUE") or None, tuple(imports)
        self.post: Post | None = None
        self.resources: dict[str, Any] = {}
        self.isolated: Isolated | None = None
        self.serving = self._loaded = False
        self._own_clock: Clock = clock or SystemClock()
        self.threads = Threads()
        self.hooks = Hooks(self.threads)
        self.registry = Registry()
        self.codec = Codec(cap=settings.result_cap)
        self.sessions: set[RunScope] = set()
        self.resting: dict[Steps, tuple[float, Micros]] = {}
        self.closed = False
        self.opens: Callable[..., Store] = store_of
        self.watching = True
        self._unpublished: list[tuple[str, Tool[..., Any]]] = []
        self._wirings: dict[str, Wiring] = {}
        # By process: in a forked child the parent's may be held by a thread that does not exist there.
        self._opening: dict[int, _thread.LockType] = {}
        self._pid = 0
        self._watch: Watch | None = None
        self._db: Store | None = None

    def wiring(self, ns: str) -> Wiring:
        """The wiring of a namespace; opens the store on first use, which may block.

        Raises:
            Closed: this AX was closed.
            StoreError: the store cannot be opened.
        """
        wired = self.ready(ns)
        return wired if wired is not None else self._open(ns)

    async def awiring(self, ns: str) -> Wiring:
        """:meth:`wiring` without blocking the event loop."""
        wired = self.ready(ns)
        if wired is not None:
            return wired
        loop = asyncio.get_running_loop()
        opened: asyncio.Future[Wiring] = loop.create_future()

        def work() -> None:
            try:
                made = self._open(ns)
                answer = partial(_done, opened, made)
            except BaseException as error:
                answer = partial(_fail, opened, error)
            try:
                loop.call_soon_threadsafe(answer)
            except RuntimeError:  # the loop is closed: nobody waits there any more
                pass

        self.threads.spawn(work)
        return await opened

    def ready(self, ns: str) -> Wiring | None:
        """The wiring, if it is open and up to date."""
        if self.closed:
            raise Closed("this AX was closed")
        if self._pid != os.getpid() or self._unpublished:
            return None
        return self._wirings.get(ns)

    def tool(self, name: str) -> Tool[..., Any]:
        """A tool by its name; those of ``imports`` are there from their first use on.

        Raises:
            UnknownTool: there is none.
            PolicyError: a module of ``imports`` cannot be imported.
        """
        if self.registry.find(name) is None:
            self.load()
        return self.registry.get(name)

    def load(self) -> None:
        """Import the modules that register the tools of the workers."""
        if self._loaded:
            return
        self._loaded = True  # first: a module that is imported may call
        for name in self.imports:
            try:
                import_module(name)
            except ImportError as error:
                self._loaded = False
                raise PolicyError(f"imports={name!r} cannot be imported: {error}") from error

    def publish(self, ns: str, tool: Tool[..., Any]) -> None:
        """Make a tool known to operators, at the next use of the store."""
        self._unpublished.append((ns, tool))

    def _open(self, ns: str) -> Wiring:
        with self._opening.setdefault(os.getpid(), _thread.allocate_lock()):
            if self._pid != os.getpid():
                self._start()
            if ns not in self._wirings:
                self._wirings[ns] = self._wire(ns)
            if self._unpublished:
                self._publish_all()
            return self._wirings[ns]

    def _start(self) -> None:
        if self._pid != 0:
            self._forked()
        db = self.opens(
            self.url or default_url(),
            clock=self._own_clock,
            threads=self.threads,
            engine=self.engine,
            announce=announce,
        )
        db.open()
        self._db = db
        self.waiters, self.live = Waiters(self.clock), Live()
        self.owner = owner_id(self.clock.new_id()[-12:])
        self.post = None if self.queue is None else self._connect(self.queue)
        post = self.post
        self.tell = (
            Tell(self.hooks, self.waiters.wake)
            if post is None
            else Tell(self.hooks, self.waiters.wake, post.offer, post.announce)
        )
        # What dead processes left is classified before the first call, so that none can slip past it.
        now = self.clock.now()
        try:
            if db.read(anything_lost(now)):
                db.write(sweep(self.clock, self.owner, self.tell), "recover", True)
        except BaseException:
            db.close()
            raise
        self._watch = Watch(self)
        if self.watching:
            self._watch.start()
        self._pid = os.getpid()  # last: a start that failed is tried again
        if post is not None:
            self.hooks.follow = partial(self._follow, post)
            if self.hooks.everywhere:
                self._follow(post)

    def _connect(self, queue: str) -> Post:
        """The way to the workers; connected to at its first use."""
        from ..transport import open_transport

        transport = open_transport(
            queue, clock=self.clock, threads=self.threads, complain=self.hooks.complain
        )
        return Post(
            transport,
            self.clock.new_id(),
            self.imports,
            self.registry,
            self.threads,
            self.hooks,
            partial(told, self.waiters, self.db),
            Hints(transport, self.threads, self.clock, self.settings.lease),
            self.serving,
        )

    def _follow(self, post: Post) -> None:
        """Hand what happens in other processes to the handlers that want it."""
        from .listening import handing_over

        self.threads.spawn(partial(handing_over, self, post))

    def _forked(self) -> None:
        if self._db is not None and not self._db.survives_fork:
            raise StoreError(
                "a store in memory does not survive a fork: give AX a file, or make a new AX in the child"
            )
        _abandoned.append((self._db, self._watch, self.post))
        self._db = self._watch = self.post = None
        self._pid = 0
        self.threads = Threads()
        self.hooks.forked(self.threads)
        self._wirings.clear()
        self.sessions.clear()
        self.resting.clear()

    def _wire(self, ns: str) -> Wiring:
        assert self._db is not None
        return Wiring(
            ns=ns,
            owner=self.owner,
            clock=self.clock,
            db=self._db,
            codec=self.codec,
            hooks=self.hooks,
            registry=self.registry,
            threads=self.threads,
            waiters=self.waiters,
            live=self.live,
            tell=self.tell,
            lease=micros(self.settings.lease),
            payload_cap=self.settings.payload_cap,
            resources=self.resources,
            post=self.post,
            isolated=self.isolated,
        )

    def _publish_all(self) -> None:
        assert self._db is not None
        pending, self._unpublished = self._unpublished, []
        now = self.clock.now()

        def op(tx: Any) -> None:
            import json

            for ns, tool in pending:
                policy = json.dumps(tool.policy.public(), sort_keys=True)
                schema = json.dumps(tool.schema, sort_keys=True)
                tools.publish(tx, ToolRow(ns, tool.name, tool.version, schema, policy, 0, None, now))

        try:
            self._db.write(op, "control")
        except BaseException:
            self._unpublished = pending + self._unpublished
            raise

    @property
    def renewed(self) -> float:
        """Monotonic time at which every lease of this process was last known to hold."""
        return float("-inf") if self._watch is None else self._watch.renewed

    @property
    def db(self) -> Store:
        """The open store."""
        assert self._db is not None
        return self._db

    @property
    def clock(self) -> Clock:
        """The time that the open store keeps; before it is open this process's own."""
        return self._db.clock if self._db is not None else self._own_clock

    def close(self, drain: float = 5.0) -> None:
        """Stop: wait up to ``drain`` seconds for what runs here, then close the store."""
        if self.closed:
            return
        if self._pid == os.getpid() and self._db is not None:
            self.live.closed = True
            end = self.clock.monotonic() + drain
            pause = _thread.allocate_lock()
            pause.acquire()
            while len(self.live) and self.clock.monotonic() < end:
                pause.acquire(timeout=0.02)
                self.clock.skip(0.02)
            self.closed = True
            if left := len(self.live.unrecorded):
                self.hooks.log_once(
                    f"{left} ends could not be recorded before this AX was closed: once their leases are over they "
                    "are tried again where that is safe, and in doubt where it is not"
                )
            if self._watch is not None:
                self._watch.stop()
            if self.post is not None:
                self.post.close()
            self._db.close()
        self.closed = True

    def swap(
        self, url: str | None, clock: Clock, opens: Callable[..., Store] = store_of
    ) -> Callable[[], None]:
        """For tests: another store and clock in place, and no watch but the test's own.

        Returns what puts the old ones back.
        """
        known = list(self.registry)
        spaces = {*self._wirings, *(ns for ns, _ in self._unpublished), "default"}
        before = {name: getattr(self, name, None) for name in _SWAPPED}
        self.url, self.engine, self._own_clock, self.opens = url, None, clock, opens
        self.queue = None
        self.watching = self.closed = False
        self.forget()
        self._unpublished = [(ns, tool) for ns in sorted(spaces) for tool in known]

        def back() -> None:
            if self._db is not None:
                self._db.close()
            for name, value in before.items():
                setattr(self, name, value)
            # Tools that were registered meanwhile are here to stay.
            self._unpublished += [("default", tool) for tool in self.registry if tool not in known]

        return back

    def forget(self) -> None:
        """For tests: nothing is open, as in a process that has just started."""
        self._wirings, self._pid, self._watch, self._db, self.post = {}, 0, None, None, None
        self.sessions, self.resting = set(), {}


_SWAPPED = (
    *(
        "url",
        "engine",
        "queue",
        "post",
        "_own_clock",
        "opens",
        "watching",
        "closed",
        "sessions",
        "resting",
        "waiters",
        "live",
        "owner",
        "tell",
    ),
    *("_wirings", "_pid", "_watch", "_db", "_unpublished"),
)


def _done(future: asyncio.Future[Any], value: Any) -> None:
    if not future.done():
        future.set_result(value)


def _fail(future: asyncio.Future[Any], error: BaseException) -> None:
    if not future.done():
        future.set_exception(error)
