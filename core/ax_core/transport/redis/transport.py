"""A :class:`~ax_core.ports.Transport` over Redis Streams."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from ... import faults
from ...clock import Clock
from ...errors import TransportError
from ...ports import PRIORITIES, Health, Job, News, Woken
from ..outage import Complain
from . import check, scripts
from .address import Address, Refused
from .entries import fields
from .keys import GROUP, QUEUE_KEPT
from .limiter import RedisLimiter
from .link import Link
from .listener import Listener, lasting, telling
from .news import Reading, announcing
from .shared import MOST
from .source import RedisSource
from .wire import Command

Spawn = Callable[[Callable[[], None]], None]


class RedisTransport:
    """The queue on one Redis server (or Valkey), as one process sees it; connects at first use.

    Args:
        url: ``redis://``, ``rediss://`` or ``unix://``; ``?prefix=`` keeps deployments on one server apart.
        complain: told once when the server goes away, and of each entry that is no job.
        spawn: starts a daemon thread.
    """

    def __init__(self, url: str, *, clock: Clock, spawn: Spawn, complain: Complain) -> None:
        try:
            self._link = Link(Address(url), clock, complain)
        except ValueError as error:
            raise TransportError(f"the queue's URL: {error}") from error
        self._spawn = spawn
        self._listeners: list[Listener] = []
        self._sources: list[RedisSource] = []
        self._reading = Reading(self._link)

    def check(self) -> Sequence[str]:
        """Warnings for the operator; raises if this server cannot be used."""
        return check.check(self._link, self._link.clock.new_id())

    # -- jobs --------------------------------------------------------------------------------------------------------

    def publish(self, jobs: Iterable[Job], news: Sequence[Mapping[str, Any]] = ()) -> bool:
        """Put jobs on their queues and, before them, events, all in one round trip."""
        keys = self._link.keys
        commands = [
            ("XADD", keys.queue(job.queue, job.priority), "MAXLEN", "~", QUEUE_KEPT, "*", *fields(job))
            for job in jobs
        ]
        told = announcing(keys.events, news)
        faults.point("publish.before")
        said = [
            self._publish(commands[at : at + MOST], () if at else told)
            for at in range(0, len(commands), MOST)
        ]
        faults.point("publish.after")
        return all(said)

    def _publish(self, commands: Sequence[Command], told: Sequence[Command]) -> bool:
        try:
            replies = self._link.look(*told, *commands)
        except TransportError:
            return False
        # Events that are refused keep no job from its worker.
        self._link.took("announce", replies[: len(told)])
        return self._link.took("publish", replies[len(told) :])

    def source(self, name: str, queues: Sequence[str]) -> RedisSource:
        """The worker's side, for a consumer of this name."""
        source = RedisSource(self._link, name, queues)
        self._sources.append(source)
        return source

    def limiter(self) -> RedisLimiter:
        """Limits that hold across workers."""
        return RedisLimiter(self._link)

    # -- waking ------------------------------------------------------------------------------------------------------

    def wake(self, client_id: str, task_ids: Sequence[str]) -> bool:
        """Tell a client that these tasks moved."""
        stream = self._link.keys.reply(client_id)
        return self._link.hint("wake a client", telling(stream, task_ids), lasting(stream))

    def listen(self, client_id: str, woken: Woken) -> None:
        """Call ``woken`` whenever this client is told something."""
        listener = Listener(self._link, client_id, woken)
        self._listeners.append(listener)
        self._spawn(listener.run)

    # -- events ------------------------------------------------------------------------------------------------------

    def announce(self, events: Sequence[Mapping[str, Any]]) -> bool:
        """Add events to the stream that people follow."""
        return not events or self._link.hint("announce", *announcing(self._link.keys.events, events))

    def events(self, after: str | None, wait: float) -> News:
        """Events after a position."""
        return self._reading.after(after, wait)

    # -- sessions ----------------------------------------------------------------------------------------------------

    def hold(self, ns: str, session_id: str, token: str, seconds: float) -> str | None:
        """Hint that this token has the session: None, or the token that hinted so before."""
        millis = max(1, int(seconds * 1000))
        try:
            held = self._link.ask((scripts.HOLD, 1, self._link.keys.lock(ns, session_id), token, millis))[0]
        except TransportError:
            return None
        return None if held is None else str(held.decode(errors="replace"))

    def let_go(self, ns: str, session_id: str, token: str) -> bool:
        """Take that hint back, if it is still this token's."""
        asked = (scripts.LET_GO, 1, self._link.keys.lock(ns, session_id), token)
        return self._link.hint("let a session go", asked)

    # -- how it stands -------------------------------------------------------------------------------------------------

    def health(self, queues: Sequence[str] = ("default",)) -> Health:
        """Ask now."""
        clock, keys = self._link.clock, self._link.keys
        streams = [(queue, keys.queue(queue, priority)) for queue in queues for priority in PRIORITIES]
        began = clock.monotonic()
        waiting, fetched = dict.fromkeys(queues, 0), dict.fromkeys(queues, 0)
        try:
            lengths = self._link.ask(*(("XLEN", stream) for _, stream in streams))
            held = self._link.look(*(("XPENDING", stream, GROUP) for _, stream in streams))
        except TransportError as error:
            return Health(False, str(error), clock.monotonic() - began, {}, {})
        for (queue, _), length, pending in zip(streams, lengths, held, strict=True):
            out = 0 if isinstance(pending, Refused) else pending[0]  # no group: nobody ever fetched
            fetched[queue] += out
            waiting[queue] += max(0, length - out)
        return Health(True, None, clock.monotonic() - began, waiting, fetched)

    def close(self) -> None:
        """Stop listening and close every connection."""
        for source in self._sources:
            source.close()
        for listener in self._listeners:
            listener.close()
        self._reading.close()
        self._link.close()
