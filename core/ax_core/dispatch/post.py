"""The queue as the calls of one process use it: what goes to workers, what is sent after a commit, who is woken."""

from __future__ import annotations

import _thread
import threading
from collections import deque
from collections.abc import Callable, Collection, Sequence
from dataclasses import fields
from operator import attrgetter
from typing import Any, TypeVar

from ..control.tell import event_of
from ..hooks import Event, Hooks
from ..model import TaskRow
from ..policy import DEFAULT_QUEUE
from ..ports import NORMAL, URGENT, Job, Transport
from ..registry import Registry, Tool
from ..store import Tx
from ..store.ready import Ready
from ..threads import Threads
from .hints import Hints
from .scope import current_task

T = TypeVar("T")
BATCH = 500
MANY = 50
MOMENT = 0.01
"""Seconds that an event waits for others, to be announced with them; or until there are ``MANY``."""
FIELDS = tuple(field.name for field in fields(Event))
_values = attrgetter(*FIELDS)
KEPT = 10_000
"""Jobs, and events, that wait while the queue is slow or away; older ones are let go."""
LAST_PAUSE = 5.0
"""Seconds at most between two tries to send what the queue did not take."""


class Post:
    """Sends jobs for tasks that are committed, on a thread of its own, again and again while the queue is away.

    What is lost on the way workers find by looking.

    Args:
        client_id: what workers call this process by when they wake it.
        imports: modules whose tools go to workers; also those below them.
        moved: told of tasks that workers are done with, and that this process waits for.
        hints: what this queue says of sessions.
        serving: this process is a worker: what its tools call runs here, or every worker could wait for another.
    """

    def __init__(
        self,
        transport: Transport,
        client_id: str,
        imports: Collection[str],
        registry: Registry,
        threads: Threads,
        hooks: Hooks,
        moved: Callable[[Sequence[str]], None],
        hints: Hints,
        serving: bool = False,
    ) -> None:
        self.transport, self.client_id, self.hints, self.serving = transport, client_id, hints, serving
        self._imports, self._registry, self._threads, self._hooks = tuple(imports), registry, threads, hooks
        self._moved = moved
        self._outbox: deque[Job] = deque(maxlen=KEPT)
        self._news: deque[tuple[str, Event]] = deque(maxlen=KEPT)
        self._closing, self._hurry = threading.Event(), threading.Event()
        self._sending = _thread.allocate_lock()
        self._listening = _thread.allocate_lock()

    def is_for_workers(self, tool: Tool[..., Any]) -> bool:
        """Whether workers run a tool: its policy says so, or it was made in a module that they import."""
        return for_workers(tool, self._imports)

    def takes(self, tool: Tool[..., Any], portable: bool) -> bool:
        """Whether a call goes to a worker; from now on this process hears of those that do.

        Args:
            portable: its arguments are all that its body needs.
        """
        if not self.is_for_workers(tool):
            if tool.policy.where != "here":
                self._hooks.log_once(stays_here(tool))
            return False
        if not portable:
            self._hooks.log_once(
                f"a call of {tool.name!r} runs in this process, not in a worker: it was given what cannot be recorded"
            )
            return False
        if self.serving and current_task.get() is not None:
            return False
        if self._listening.acquire(False):
            self.transport.listen(self.client_id, self._moved)
        return True

    def after_commit(self, tx: Tx, row: TaskRow) -> None:
        """Send a job for a task that its caller has just had recorded."""
        job = self.job(row, self.client_id)

        def sent() -> None:
            self.announce(row.ns, event_of(row, "queued", {}))
            self.send(job)

        tx.then(sent)

    def job(self, row: TaskRow | Ready, reply_to: str | None = None) -> Job:
        """The job of a task: on the queue of its tool, urgent where somebody waits for it."""
        priority = URGENT if row.origin == "call" else NORMAL
        return Job(row.id, row.ns, self.queue_of(row.tool), priority, reply_to)

    def queue_of(self, name: str) -> str:
        """The queue of a tool, the default one where it is not known here."""
        tool = self._registry.find(name)
        return DEFAULT_QUEUE if tool is None else tool.policy.queue

    def offer(self, row: TaskRow | Ready) -> bool:
        """Send a job for a task that became ready again; False: it belongs to a caller of this process."""
        tool = self._registry.find(row.tool)
        if tool is not None and not self.is_for_workers(tool):
            return False
        self.send(self.job(row))
        return True

    def send(self, job: Job) -> None:
        """Send a job, later, together with others; never blocks."""
        self._outbox.append(job)
        self._hurry.set()
        self._start()

    def announce(self, ns: str, event: Event) -> None:
        """Publish an event, later, together with others; never blocks."""
        self._news.append((ns, event))
        self._start()

    def close(self) -> None:
        """Send what is left, if the queue takes it, and close the transport."""
        self._closing.set()
        self._hurry.set()
        with self._sending:
            self._publish()
        self.transport.close()

    def _start(self) -> None:
        if self._sending.acquire(False):
            self._threads.spawn(self._send)

    def _send(self) -> None:
        pause = 0.1
        while True:
            if not self._publish() and not self._closing.wait(pause):
                pause = min(LAST_PAUSE, 2 * pause)
                continue
            self._sending.release()
            # Something may have come between the last look and the release, and found this one still busy.
            if not (self._outbox or self._news) or self._closing.is_set() or not self._sending.acquire(False):
                return

    def _publish(self) -> bool:
        """Whether everything went out; jobs that did not are still there."""
        while self._outbox or self._news:
            try:
                jobs = _taken(self._outbox)
                # Before a job goes what is told of its task: its worker soon has more to tell.
                news = _taken(self._news) if jobs or len(self._news) >= MANY or self._rested() else []
                told = [self._told(ns, event) for ns, event in news]
                if not jobs:
                    self.transport.announce(told)
                elif not self.transport.publish(jobs, told):
                    # Some may have arrived: a job that comes twice is dropped.
                    self._outbox.extendleft(reversed(jobs))
                    self._news.extendleft(reversed(news))
                    return False
            except Exception as error:
                self._hooks.complain("jobs could not be sent; workers find them by looking", error)
        return True

    def _rested(self) -> bool:
        """Whether news may go: they wait a moment for others, unless a job comes meanwhile, which goes first."""
        self._hurry.clear()
        return (
            self._closing.is_set() or not (self._outbox or self._hurry.wait(MOMENT)) or self._closing.is_set()
        )

    def _told(self, ns: str, event: Event) -> dict[str, Any]:
        """An event as others read it."""
        return {"ns": ns, "from": self.client_id, **dict(zip(FIELDS, _values(event), strict=True))}


def for_workers(tool: Tool[..., Any], imports: Collection[str]) -> bool:
    """Whether workers run a tool: its policy says so, or it was made in one of ``imports`` or below."""
    if tool.validated_elsewhere and tool.apart is None:
        return False
    if tool.policy.where is not None:
        return tool.policy.where != "here"
    return made_in(tool, imports)


def made_in(tool: Tool[..., Any], imports: Collection[str]) -> bool:
    """Whether a tool was made in one of these modules, or in one below it."""
    homes = [module for module in (tool.home, getattr(tool.fn, "__module__", None)) if module]
    return any(module == name or module.startswith(name + ".") for module in homes for name in imports)


def stays_here(tool: Tool[..., Any]) -> str:
    """Why no worker runs a tool, for its host."""
    why = f"it is not made in a module of imports= (but in {tool.home})"
    if tool.validated_elsewhere and tool.apart is None:
        why = f"its framework gives it more than its arguments ({', '.join(tool.given)})"
    return f"tool {tool.name!r} runs in this process, not in a worker: {why}"


def _taken(waiting: deque[T]) -> list[T]:
    taken: list[T] = []
    while waiting and len(taken) < BATCH:
        taken.append(waiting.popleft())
    return taken
