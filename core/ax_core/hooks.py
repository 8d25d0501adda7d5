"""Events: what happened, told to whoever asked, after it was committed and never in its way."""

from __future__ import annotations

import _thread
import logging
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from .clock import Micros
from .threads import Threads

NAMES = (
    "started",
    "succeeded",
    "failed",
    "timed_out",
    "quarantined",
    "confirming",
    "confirmed",
    "rejected",
    "expired",
    "cancelled",
    "dead",
    "retrying",
    "compensated",
    "resolved",
    "requeued",
    "alert",
)
"""What ``@ax.on`` may name. An ``alert`` wants a person: ``kind`` says why."""

log = logging.getLogger("ax")


@dataclass(frozen=True, slots=True)
class Event:
    """One thing that happened.

    Attributes:
        address: the framework's own (thread, interrupt …): what wakes an agent.
        elsewhere: it happened in another process.
        position: where to go on reading after it, if it was read with ``ax.events``.
    """

    name: str
    task_id: str
    run_id: str
    tool: str
    state: str
    at: Micros
    reason: str | None = None
    address: dict[str, Any] = field(default_factory=dict)
    detail: dict[str, Any] = field(default_factory=dict)
    elsewhere: bool = False
    position: str | None = None


Handler = Callable[[Event], Any]


class Hooks:
    """Handlers by event name, each called in order, on a thread of their own; one that raises is only logged."""

    def __init__(self, threads: Threads) -> None:
        self._handlers: dict[str, list[Handler]] = {}
        self._threads = threads
        self._queue: deque[Event | Callable[[], None]] = deque()
        self._delivering = _thread.allocate_lock()
        self._said: set[str] = set()
        self.everywhere: set[Handler] = set()
        self.follow: Callable[[], None] | None = None
        """Begins to hand over what happens in other processes, at the first handler that wants it."""

    def on(self, *names: str, everywhere: bool = False) -> Callable[[Handler], Handler]:
        """Register the decorated function for these events.

        Args:
            everywhere: also for those of other processes, where a queue carries them.

        Raises:
            ValueError: no such event.
        """
        for name in names:
            if name not in NAMES:
                raise ValueError(f"no event named {name!r}; there are: {', '.join(NAMES)}")

        def register(handler: Handler) -> Handler:
            for name in names:
                self._handlers.setdefault(name, []).append(handler)
            if everywhere:
                first = not self.everywhere
                self.everywhere.add(handler)
                if first and self.follow is not None:
                    self.follow()
            return handler

        return register

    def off(self, handler: Handler) -> None:
        """Call this handler no more."""
        self.everywhere.discard(handler)
        for name, handlers in list(self._handlers.items()):
            left = [h for h in handlers if h is not handler]
            if left:
                self._handlers[name] = left
            else:
                self._handlers.pop(name, None)

    def wants(self, name: str) -> bool:
        """Whether anybody listens: an event nobody hears need not be made."""
        return name in self._handlers

    def emit(self, event: Event) -> None:
        """Tell the handlers, later, in the order of emission."""
        if event.name == "alert":
            log.warning(
                "alert %s: task %s (%s) is %s",
                event.detail.get("kind"),
                event.task_id,
                event.tool,
                event.state,
            )
        if event.name not in self._handlers:
            return
        self._queue.append(event)
        self._start()

    def hear(self, event: Event) -> None:
        """Tell those handlers that want it what happened in another process."""
        if any(handler in self.everywhere for handler in self._handlers.get(event.name, ())):
            self._queue.append(replace(event, elsewhere=True))
            self._start()

    def complain(self, what: str, error: BaseException) -> None:
        """Log what went wrong where no caller can be told."""
        log.warning("%s: %s: %s", what, type(error).__name__, error)

    def log_once(self, what: str) -> None:
        """Warn of something once per process."""
        if what not in self._said:
            self._said.add(what)
            log.warning("%s", what)

    def forked(self, threads: Threads) -> None:
        """After a fork: the delivering thread of the parent does not exist here."""
        self._threads, self._delivering = threads, _thread.allocate_lock()
        self._queue.clear()

    def drained(self, callback: Callable[[], None]) -> None:
        """Call back once everything emitted so far has been handled."""
        self._queue.append(callback)
        self._start()

    def _start(self) -> None:
        if self._delivering.acquire(False):
            self._threads.spawn(self._deliver)

    def _deliver(self) -> None:
        while True:
            while self._queue:
                event = self._queue.popleft()
                if isinstance(event, Event):
                    self._tell(event)
                else:
                    event()
            self._delivering.release()
            # Something may have come between the last look and the release, and found this one still busy.
            if not self._queue or not self._delivering.acquire(False):
                return

    def _tell(self, event: Event) -> None:
        for handler in tuple(self._handlers.get(event.name, ())):
            if event.elsewhere and handler not in self.everywhere:
                continue
            try:
                handler(event)
            except Exception:
                log.exception("a handler of %r failed", event.name)
