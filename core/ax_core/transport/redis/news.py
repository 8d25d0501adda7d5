"""Events for people who look: a stream of bounded length, followed from a position."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from ...ports import News
from .keys import EVENTS_KEPT
from .link import BLOCK, Link
from .wire import Command, Wire

BEGINNING = "0"
TOGETHER = 10
"""Events in one entry at most: what happens at the same time is told together."""
_POSITION = re.compile(r"\d{1,20}(-\d{1,20})?")


def announcing(stream: str, events: Sequence[Mapping[str, Any]]) -> list[Command]:
    """What adds these events, several to an entry."""
    return [
        ("XADD", stream, "MAXLEN", "~", EVENTS_KEPT, "*", "e", _text(events[at : at + TOGETHER]))
        for at in range(0, len(events), TOGETHER)
    ]


class Reading:
    """Reads of the event stream, each on a wire that no other uses meanwhile."""

    def __init__(self, link: Link) -> None:
        self._link = link
        self._idle: list[Wire] = []

    def after(self, position: str | None, wait: float) -> News:
        """Events after a position; see :meth:`ax_core.ports.Transport.events`."""
        if position is not None and not _POSITION.fullmatch(position):
            raise ValueError(f"{position!r} is no position of an event")
        try:
            wire = self._idle.pop()
        except IndexError:
            wire = self._link.wire(BLOCK)
        try:
            return self._read(wire, position, wait)
        finally:
            self._idle.append(wire)

    def close(self) -> None:
        """Close what nobody uses."""
        while self._idle:
            self._idle.pop().drop()

    def _read(self, wire: Wire, position: str | None, wait: float) -> News:
        stream, clock = self._link.keys.events, self._link.clock
        until = clock.monotonic() + wait
        newest = self._ask(wire, ("XREVRANGE", stream, "+", "-", "COUNT", 1))[0]
        last = newest[0][0].decode() if newest else BEGINNING
        if position is None:
            return News((), last, False)
        gap = False
        if not _same(position, BEGINNING):
            # Trimmed or lost, and then nobody knows what came between it and the oldest that is there.
            gap = not self._ask(wire, ("XRANGE", stream, position, position))[0]
            if _order(position) > _order(last):
                return News((), BEGINNING, True)
        while True:
            block = max(0.0, min(BLOCK, until - clock.monotonic()))
            blocking = ("BLOCK", int(block * 1000)) if int(block * 1000) else ()
            got = self._ask(wire, ("XREAD", "COUNT", 1000, *blocking, "STREAMS", stream, position))[0]
            entries = got[0][1] if got else ()
            if entries or not blocking:
                seen = entries[-1][0].decode() if entries else position
                return News([event for _, raw in entries for event in _events(raw)], seen, gap)

    def _ask(self, wire: Wire, command: Command) -> list[Any]:
        replies = wire.ask(command)
        self._link.accepted(replies)
        return replies


def _order(position: str) -> tuple[int, int]:
    millis, _, number = position.partition("-")
    return int(millis), int(number or 0)


def _same(a: str, b: str) -> bool:
    return _order(a) == _order(b)


_text = json.JSONEncoder(separators=(",", ":")).encode


def _events(raw: list[bytes]) -> list[dict[str, Any]]:
    try:
        found = json.loads(dict(zip(raw[::2], raw[1::2], strict=True))[b"e"])
    except (KeyError, ValueError):
        return []  # somebody else's; there is nothing to tell
    # one of an earlier version stands alone
    return [event for event in (found if isinstance(found, list) else [found]) if isinstance(event, dict)]
