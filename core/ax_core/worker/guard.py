"""The guard of a worker: ends the process before anybody could act under a claim that is over."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..app.core import Core

RECYCLED = 75
"""Exit code of a worker whose threads hang in tools: it wants to be started anew."""
FENCED = 70
"""Exit code of a worker that could not renew its leases: whoever restarts it finds nothing half done by it."""
log = logging.getLogger("ax")


class Guard:
    """One thread per worker, which needs neither the store nor a slot.

    Args:
        size: how many tasks run at once.
        stop: ends the worker in order, to be started anew, when as many threads hang in bodies that were given up.
    """

    def __init__(self, core: Core, size: int, stop: Callable[[], None]) -> None:
        self._core, self._size, self._stop = core, size, stop
        self._over = threading.Event()
        self._on = False
        self.recycled = False

    def begin(self) -> None:
        """Watch from now on."""
        self._on = True
        threading.Thread(target=self._watch, name="ax-guard", daemon=True).start()

    def end(self) -> None:
        """Nothing runs any more."""
        self._over.set()

    @property
    def leaked(self) -> int:
        """Threads of bodies that were given up and have not ended."""
        return sum(a.given_up for a in self._core.live.all()) if self._on else 0

    def _watch(self) -> None:
        core = self._core
        margin = 0.8 * core.settings.lease
        while not self._over.wait(core.settings.heartbeat / 4):
            now, renewed = core.clock.monotonic(), core.renewed
            if any(
                now - max(a.since, renewed) > margin for a in core.live.all() if not (a.given_up or a.ended)
            ):
                log.critical("worker %s could not renew its leases for %.0f s: it ends", core.owner, margin)
                os._exit(FENCED)
            if not self.recycled and self.leaked >= self._size:
                self.recycled = True
                log.error(
                    "worker %s: %d threads hang in tools that were given up: it ends", core.owner, self.leaked
                )
                self._stop()
