"""Waiting for what AX says happened."""

from __future__ import annotations

import threading
from typing import Any

from ax_core import AX
from ax_core.hooks import Event


class Ear:
    """Hears the events of one name whose detail has these values.

    Attributes:
        heard: the events, in order.
    """

    def __init__(self, ax: AX, name: str, **detail: Any) -> None:
        self.heard: list[Event] = []
        self._detail = detail
        self._rang = threading.Event()
        ax.on(name)(self._hear)

    def _hear(self, event: Event) -> None:
        if all(event.detail.get(key) == value for key, value in self._detail.items()):
            self.heard.append(event)
            self._rang.set()

    def wait(self) -> Event:
        """The first of them."""
        assert self._rang.wait(10), "nothing was heard"
        return self.heard[0]


def late(ax: AX) -> Ear:
    """Hears that an attempt which had been given up has ended after all."""
    return Ear(ax, "alert", kind="late")
