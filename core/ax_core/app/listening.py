"""Hearing what happens in every process of a deployment: events in their order, from a position on."""

from __future__ import annotations

import asyncio
import dataclasses
import threading
from collections.abc import AsyncIterator, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from ..errors import PolicyError, TransportError
from ..hooks import Event
from ..ports import News, Transport

if TYPE_CHECKING:
    from ..dispatch.post import Post
    from .core import Core

WAIT = 1.0
PAUSE = 1.0
GAP = "gap"
"""The name of the event that says: some before this may be missing; read the record again."""
_FIELDS = {field.name for field in dataclasses.fields(Event)} - {"elsewhere", "position"}


class Listening:
    """Following the events of a namespace."""

    _core: Core
    _ns: str

    def events(self, after: str | None = None, *, wait: float | None = None) -> Iterator[Event]:
        """Every transition of every process, as it is published; needs ``queue=``.

        Args:
            after: the ``position`` of the last event that was seen; ``"0"``: all that are kept; None: from now on.
            wait: seconds without an event after which it ends; None: never.

        An event may come twice after a restart. One named ``"gap"`` says that some were let go, or that the queue lost
        its memory: read the record again.

        Raises:
            PolicyError: this AX has no queue.
            TransportError: the queue is away.
        """
        transport = self._queue()
        position, quiet = _begin(transport, after), 0.0
        while wait is None or quiet < wait:
            news = transport.events(position, WAIT if wait is None else min(WAIT, wait - quiet))
            yield from told(news, self._ns, position)
            quiet = 0.0 if news.events else quiet + WAIT
            position = news.position

    async def aevents(self, after: str | None = None, *, wait: float | None = None) -> AsyncIterator[Event]:
        """:meth:`events` on an event loop."""
        await self._core.awiring(self._ns)
        transport = self._queue()
        position, quiet = await asyncio.to_thread(_begin, transport, after), 0.0
        while wait is None or quiet < wait:
            left = WAIT if wait is None else min(WAIT, wait - quiet)
            news = await asyncio.to_thread(transport.events, position, left)
            for event in told(news, self._ns, position):
                yield event
            quiet = 0.0 if news.events else quiet + WAIT
            position = news.position

    def _queue(self) -> Transport:
        self._core.wiring(self._ns)
        if self._core.post is None:
            raise PolicyError("events are carried by a queue, and this AX has none: AX(…, queue='redis://…')")
        return self._core.post.transport


def _begin(transport: Transport, after: str | None) -> str:
    return transport.events(None, 0.0).position if after is None else after


def told(news: News, ns: str | None, before: str) -> Iterator[Event]:
    """The events of a namespace (None: of all) in what was read; the last of them carries the new position."""
    if news.gap:
        yield Event(GAP, "", "", "", "", 0, position=before)
    mine = [event for event in news.events if ns is None or event.get("ns") == ns]
    for event in mine:
        made = _event(event, news.position if event is mine[-1] else before)
        if made is not None:
            yield made


def handing_over(core: Core, post: Post) -> None:
    """Hand what happens in other processes to the handlers that want it, until this AX is closed."""
    position: str | None = None
    pause = threading.Event()
    while not core.closed and core.post is post:
        try:
            news = post.transport.events(position, WAIT)
        except (TransportError, ValueError) as error:
            if core.closed or core.post is not post:
                return
            core.hooks.log_once(f"what happens in other processes is not heard at the moment: {error}")
            pause.wait(PAUSE)
            continue
        for raw in news.events:
            event = _event(raw, None)
            if raw.get("from") != post.client_id and event is not None:
                core.hooks.hear(event)
        position = news.position


def _event(raw: Mapping[str, Any], position: str | None) -> Event | None:
    known = {name: value for name, value in raw.items() if name in _FIELDS}
    try:
        return Event(**known, position=position)
    except TypeError:  # of another version
        return None
