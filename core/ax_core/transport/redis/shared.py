"""One wire for all threads of a process: whoever comes while a question is under way shares the next round trip."""

from __future__ import annotations

import os
import threading
from collections import deque
from typing import Any

from ...errors import TransportError
from .wire import Command, Wire

MOST = 2_000
"""Commands in one round trip."""


class _Question:
    __slots__ = ("commands", "error", "replies")

    def __init__(self, commands: tuple[Command, ...]) -> None:
        self.commands = commands
        self.replies: list[Any] | None = None
        self.error: TransportError | None = None

    @property
    def answered(self) -> bool:
        return self.replies is not None or self.error is not None


class SharedWire:
    """A wire behind a line; alone, a thread asks at once."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire
        self._line: deque[_Question] = deque()
        self._lead = threading.Lock()
        self._pid = os.getpid()
        self._closed = False

    def ask(self, *commands: Command) -> list[Any]:
        """As :meth:`Wire.ask`.

        Raises:
            TransportError: the server is away; it was closed; this is a forked child, which opens its own.
        """
        if self._pid != os.getpid():
            raise TransportError("this queue was opened before a fork: a forked child opens its own")
        if self._closed:
            raise TransportError("this queue was closed")
        question = _Question(commands)
        self._line.append(question)
        while not question.answered:
            # Those who waited for the lead meanwhile mostly find their answer there.
            with self._lead:
                if not question.answered:
                    self._lead_once()
        if question.error is not None:
            raise question.error
        assert question.replies is not None
        return question.replies

    def close(self) -> None:
        """Answer nobody any more."""
        self._closed = True
        if self._pid == os.getpid() and self._lead.acquire(timeout=1.0):
            self._wire.drop()
            self._lead.release()

    def _lead_once(self) -> None:
        batch: list[_Question] = []
        commands: list[Command] = []
        try:
            while self._line and (not batch or len(commands) + len(self._line[0].commands) <= MOST):
                batch.append(self._line.popleft())
                commands += batch[-1].commands
            replies = self._wire.ask(*commands)
        except TransportError as error:
            for question in batch:
                question.error = error
            return
        except BaseException as error:
            for question in batch:
                question.error = TransportError(
                    f"the thread that asked for several was interrupted: {error!r}"
                )
            raise
        at = 0
        for question in batch:
            question.replies = replies[at : at + len(question.commands)]
            at += len(question.commands)
