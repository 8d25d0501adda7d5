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
        self._closed = threading.Event()
        self._ended = threading.Event()
        self._ended.set()

    def run(self) -> None:
        """Listen until the close; an outage only interrupts it."""
        self._ended.clear()
        after = "0"
        try:
            while not self._closed.is_set():
                try:
                    after = self._once(after)
                    self._pause.over()
                except TransportError:
                    # From its beginning again: ids of a server that lost its memory may begin below ours.
                    after = "0"
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

    def _once(self, after: str) -> str:
        read = ("XREAD", "COUNT", 1000, "BLOCK", int(BLOCK * 1000), "STREAMS", self._stream, after)
        replies = self._wire.ask(read)
        try:
            self._link.accepted(replies)
        except TransportError as error:
            self._link.complain("the queue wakes nobody", error)
            raise
        for _, entries in replies[0] or ():
            ids = [task_id for _, raw in entries for task_id in _ids(raw)]
            after = entries[-1][0].decode()
            if ids and not self._closed.is_set():
                self._tell(ids)
        return after

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
