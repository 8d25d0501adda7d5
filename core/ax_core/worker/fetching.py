"""Fetching: takes from the queue what the bench has room for, until the worker is told to stop."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from ..ports import Source
from .bench import Bench, Taken
from .pace import Pace
from .slots import Slots
from .upkeep import Upkeep

if TYPE_CHECKING:
    from ..app.core import Core

FETCH_SECONDS = 1.0
TOGETHER_SECONDS = 0.005
"""Where more is waiting than there is room for, the next ones are fetched together: after so long at most."""


class Fetching:
    """One loop per crew of a worker.

    Args:
        upkeep: told when the queue last brought something.
    """

    def __init__(
        self, core: Core, source: Source, bench: Bench, slots: Slots, pace: Pace, upkeep: Upkeep
    ) -> None:
        self._core, self._source, self._bench = core, source, bench
        self._slots, self._pace, self._upkeep = slots, pace, upkeep

    def run(self, stopping: threading.Event) -> None:
        """Fetch until ``stopping`` is set."""
        more, bench = False, self._bench
        while not stopping.is_set():
            if self._slots.wait_free(FETCH_SECONDS) <= 0 or stopping.wait(self._pace.wait):
                continue
            if bench.lines is not None:  # they have waited longer than what is still in the queue
                bench.lines.advance(bench.room)
            if more:
                self._slots.wait_more(TOGETHER_SECONDS)
            if (room := bench.room) > 0:
                more = self._fetch(room, stopping) >= room

    def _fetch(self, room: int, stopping: threading.Event) -> int:
        """Begin what the queue brings, up to ``room``; how much that was."""
        fetched = self._source.fetch(room, FETCH_SECONDS)
        if fetched:
            self._upkeep.fetched = self._core.clock.monotonic()
        if stopping.is_set():
            self._source.give_back(fetched)
            return 0
        by_ns: dict[str, list[Taken]] = {}
        for delivery in fetched:
            by_ns.setdefault(delivery.job.ns, []).append((delivery.job.task_id, delivery.job.ns, delivery))
        for jobs in by_ns.values():
            self._bench.begin(jobs)
        return len(fetched)
