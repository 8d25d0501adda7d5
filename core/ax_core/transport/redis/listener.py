"""The thread on which a client is woken."""

from __future__ import annotations

import threading
from collections.abc import Sequence

from ...errors import TransportError
from ...ports import Woken
from ..outage import Pause
from .keys import REPLIES_KEPT, REPLIES_MS
from .link import BLOCK, Link
from .wire import Command


class Listener:
    """Reads one client's reply stream; ``run`` it on a daemon thread."""

    def __init__(self, link: Link, client_id: str, woken: Woken) -> None:
        self._link, self._woken = link, woken
        self._stream = link.keys.reply(client_id)
        self._wire, self._pause = link.wire(BLOCK), Pause(link.clock)
        self._told: list[bytes] = []
        self._closed = threading.Event()
        self._ended = threading.Event()
        self._ended.set()

    def run(self) -> None:
        """Listen until the close; an outage only interrupts it."""
        self._ended.clear()
        try:
            while not self._closed.is_set():
                try:
                    self._once()
                    self._pause.over()
                except TransportError:
                    self._pause.failed()
                    self._closed.wait(self._pause.left)
        finally:
            self._wire.drop()
            self._ended.set()

    def close(self) -> None:
        """Listen no more, and remove the stream."""
        self._closed.set()
        # An empty message ends the read that blocks.
        self._link.hint("stop listening", telling(self._stream, ()))
        self._ended.wait(BLOCK)
        self._link.hint("forget a client", ("DEL", self._stream))

    def _once(self) -> None:
        # Always from the beginning, without what was told: a position would mean nothing to a server that lost its
        # memory, or whose clock went back.
        forget = (("XDEL", self._stream, *self._told),) if self._told else ()
        read = ("XREAD", "COUNT", 1000, "BLOCK", int(BLOCK * 1000), "STREAMS", self._stream, "0")
        replies = self._wire.ask(*forget, read)
        self._told.clear()
        try:
            self._link.accepted(replies)
        except TransportError as error:
            self._link.refused("wake anybody", error)
            raise
        self._link.went("wake anybody")
        for _, entries in replies[-1] or ():
            ids = [task_id for _, raw in entries for task_id in _ids(raw)]
            self._told += [entry_id for entry_id, _ in entries]
            if ids and not self._closed.is_set():
                self._tell(ids)

    def _tell(self, ids: list[str]) -> None:
        try:
            self._woken(ids)
        except Exception as error:
            self._link.complain("waking failed", error)


def telling(stream: str, task_ids: Sequence[str]) -> Command:
    """What tells a client of tasks."""
    return ("XADD", stream, "MAXLEN", "~", REPLIES_KEPT, "*", "t", " ".join(task_ids))


def lasting(stream: str) -> Command:
    """What lets a client's stream end some time after its last use."""
    return ("PEXPIRE", stream, REPLIES_MS)


def _ids(raw: list[bytes]) -> list[str]:
    found = dict(zip(raw[::2], raw[1::2], strict=True)).get(b"t", b"")
    return found.decode(errors="replace").split()
