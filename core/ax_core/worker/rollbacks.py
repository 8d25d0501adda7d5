"""Going on with rollbacks that somebody began elsewhere; the compensations run in workers, like any task of theirs."""

from __future__ import annotations

import logging
from functools import partial
from typing import TYPE_CHECKING

from ..app.rollback import rolling_back
from ..dispatch import carry_out
from ..errors import AXError
from ..store import runs

if TYPE_CHECKING:
    from ..app.core import Core

EVERY = 2.0
"""Seconds between two looks."""
LONGEST = 60.0
"""Seconds at most until a rollback that stopped (at a doubt, at a tool nobody knows) is tried again."""

log = logging.getLogger("ax")


class Rollbacks:
    """One per worker or scheduler.

    A run is gone on with by one process at a time, as far as the queue can tell. Where it cannot, two do, and nothing
    is undone twice: the claim of each compensation is the fence.
    """

    def __init__(self, core: Core) -> None:
        self._core = core
        self._mine: dict[str, str] = {}
        self._later: dict[str, tuple[float, float]] = {}
        self._next = 0.0
        self._closed = False

    def round(self) -> int:
        """Go on with what nobody goes on with, each run on a thread of its own; how many."""
        now = self._core.clock.monotonic()
        if self._closed or now < self._next:
            return 0
        self._next = now + EVERY
        for run_id, ns in list(self._mine.items()):
            self._hold(ns, run_id)
        found = self._core.db.read(runs.rolling_back)
        self._later = {run_id: self._later[run_id] for _, run_id in found if run_id in self._later}
        begun = 0
        for ns, run_id in found:
            due, _ = self._later.get(run_id, (now, EVERY))
            if run_id in self._mine or due > now or not self._hold(ns, run_id):
                continue
            self._mine[run_id] = ns
            self._core.threads.spawn(partial(self._go_on, ns, run_id))
            begun += 1
        return begun

    def close(self) -> None:
        """Begin nothing more, and leave to others what is under way here."""
        self._closed = True
        for run_id, ns in list(self._mine.items()):
            self._let_go(ns, run_id)

    def _go_on(self, ns: str, run_id: str) -> None:
        core, post = self._core, self._core.post
        assert post is not None
        try:
            wiring = core.wiring(ns)
            verdict = carry_out(rolling_back(core, wiring, run_id, core.owner, post.is_for_workers), wiring)
            log.info("rollback of run %s: %s", run_id, verdict.message)
        except AXError as error:
            if not self._closed:
                core.hooks.complain(f"the rollback of run {run_id} could not go on", error)
        finally:
            _, pause = self._later.get(run_id, (0.0, EVERY))
            self._later[run_id] = (core.clock.monotonic() + pause, min(LONGEST, 2 * pause))
            self._mine.pop(run_id, None)
            if not self._closed:
                self._let_go(ns, run_id)

    def _hold(self, ns: str, run_id: str) -> bool:
        assert self._core.post is not None
        owner, lease = self._core.owner, self._core.settings.lease
        held = self._core.post.transport.hold(ns, _hint(run_id), owner, lease)
        return held is None or held == owner

    def _let_go(self, ns: str, run_id: str) -> None:
        assert self._core.post is not None
        self._core.post.transport.let_go(ns, _hint(run_id), self._core.owner)


def _hint(run_id: str) -> str:
    """What goes on with a run, where sessions say who holds them."""
    return f"rollback:{run_id}"
