"""Waiting for what AX itself tells: its events, in the order in which they come."""

from __future__ import annotations

import queue

from ax_core import AX
from ax_core.hooks import Event


class Alerts:
    """The alerts of one AX, kept until somebody asks."""

    def __init__(self, ax: AX) -> None:
        self._heard: queue.SimpleQueue[Event] = queue.SimpleQueue()
        ax.on("alert")(self._heard.put)

    def wait_for(self, kind: str, seconds: float = 30.0) -> Event:
        """The next alert of a kind; others before it are passed over.

        Raises:
            AssertionError: it does not come.
        """
        while True:
            try:
                event = self._heard.get(timeout=seconds)
            except queue.Empty:
                raise AssertionError(f"no alert {kind!r} within {seconds:g} s") from None
            if event.detail.get("kind") == kind:
                return event
