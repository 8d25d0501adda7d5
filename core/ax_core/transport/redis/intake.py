"""Taking new entries off several streams: no more than asked for, in order, from groups that are made anew."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...errors import TransportError
from ...ports import PRIORITIES
from . import scripts
from .address import Refused
from .keys import GROUP
from .link import BLOCK, Link
from .wire import Command

FROM_BELOW = 8
"""One look in so many begins at the other end, so that no flood of what comes first holds up the rest for ever."""


class Intake:
    """What one consumer takes, over a connection of its own; for one thread at a time."""

    def __init__(self, link: Link, consumer: str, queues: Sequence[str]) -> None:
        self._link, self._consumer, self._queues = link, consumer, list(queues)
        self.wire = link.wire(BLOCK)
        self._looks = 0
        self._emptied = False

    def next(self, limit: int, wait: float) -> list[Any]:
        """Entries (stream, id, fields): what is there, up to the limit; else what comes in time, maybe a few more.

        Raises:
            TransportError: the server is away, or refuses.
        """
        streams = self._in_order()
        # After a read that blocked and left nothing behind a look would find nothing either.
        emptied, self._emptied = self._emptied, False
        taken = [] if emptied and wait > 0 else self._take(streams, limit)
        return self._block(streams, limit, wait) if not taken and wait > 0 else taken

    def _take(self, streams: list[str], limit: int) -> list[Any]:
        """What is there; groups that are not, or were lost with everything else, are made."""
        ask = (scripts.TAKE, len(streams), *streams, GROUP, self._consumer, limit)
        taken, problem = self._ask(ask)
        if problem is not None and b"NOGROUP" in problem:
            problem = self._make_groups(streams)
            if not taken:
                taken, problem = self._ask(ask)
        if problem is not None:
            error = TransportError(problem.decode(errors="replace"))
            self._link.refused("hand out all", error)
            if not taken:  # else those come first
                raise error
        return list(taken)

    def _make_groups(self, streams: list[str]) -> bytes | None:
        """Make those that are not there; what was wrong with one."""
        made = self.wire.ask(*(("XGROUP", "CREATE", s, GROUP, "0", "MKSTREAM") for s in streams))
        wrong = [str(reply) for reply in made if isinstance(reply, Refused) and "BUSYGROUP" not in str(reply)]
        return wrong[0].encode() if wrong else None

    def _block(self, streams: list[str], limit: int, wait: float) -> list[Any]:
        most = max(1, limit // len(streams))  # COUNT is per stream
        millis = max(1, int(wait * 1000))
        group: Command = ("XREADGROUP", "GROUP", GROUP, self._consumer, "COUNT", most, "BLOCK", millis)
        got = self.wire.ask((*group, "STREAMS", *streams, *(">" for _ in streams)))[0]
        if isinstance(got, Refused) and any(gone in str(got) for gone in ("NOGROUP", "UNBLOCKED")):
            return []  # it was lost while this read waited for it; the next look makes it anew
        self._agreed([got])
        self._emptied = all(len(entries) < most for _, entries in got or ())
        return [(stream, *entry) for stream, entries in got or () for entry in entries]

    def _ask(self, command: Command) -> Any:
        replies = self.wire.ask(command)
        self._agreed(replies)
        return replies[0]

    def _agreed(self, replies: Sequence[Any]) -> None:
        try:
            self._link.accepted(replies)
        except TransportError as error:
            self._link.refused("hand out jobs", error)
            raise
        self._link.went("hand out jobs")

    def _in_order(self) -> list[str]:
        """The streams of the queue that was named first, the urgent before the others, then those of the next."""
        self._looks += 1
        streams = [self._link.keys.queue(q, p) for q in self._queues for p in PRIORITIES]
        return streams[::-1] if self._looks % FROM_BELOW == 0 else streams
