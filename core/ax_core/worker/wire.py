"""Messages between a worker and the processes of its isolated tools: JSON objects, one a line, over a socket pair."""

from __future__ import annotations

import json
import socket
import struct
import threading
from collections.abc import Iterator
from typing import Any

Message = dict[str, Any]
SEND_SECONDS = 5
"""A process that does not read for so long is taken for dead."""


class Wire:
    """One end; any thread may send, one reads."""

    def __init__(self, ours: socket.socket) -> None:
        ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("ll", SEND_SECONDS, 0))
        self._socket = ours
        self._sending = threading.Lock()

    def send(self, kind: str, **more: Any) -> bool:
        """Send one message; False: the other end is gone."""
        line = json.dumps({"kind": kind, **more}).encode() + b"\n"
        try:
            with self._sending:
                self._socket.sendall(line)
        except OSError:
            return False
        return True

    def __iter__(self) -> Iterator[Message]:
        """Messages until the other end is gone."""
        try:
            with self._socket.makefile("rb") as lines:
                for line in lines:
                    yield json.loads(line)
        except (OSError, ValueError):  # cut off, maybe in the middle of a message
            return

    def close(self) -> None:
        """Both directions; what was sent before is still read."""
        try:
            self._socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self._socket.close()

    def read_no_more(self) -> None:
        """What has arrived is still read, and then no more."""
        try:
            self._socket.shutdown(socket.SHUT_RD)
        except OSError:
            pass
