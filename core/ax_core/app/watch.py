"""The watch: a daemon thread that renews, warns, passes cancels on, and classifies what the dead left; runs no tool."""

from __future__ import annotations

import _thread
from typing import TYPE_CHECKING

from ..clock import micros
from ..decide import Lost, TimedOut
from ..dispatch.live import OpenAttempt
from ..errors import StoreError
from ..scheduler import (
    anything_due,
    anything_lost,
    asked_to_stop,
    expire_due,
    renew,
    renew_sessions,
    sweep,
)
from ..store import Tx, tasks, transitions
from .doubts import Doubts
from .steps import BETWEEN_STEPS

if TYPE_CHECKING:
    from .core import Core

TICK = 0.5
"""Seconds between two looks at what runs here."""


class Watch:
    """One per open store and process."""

    def __init__(self, core: Core) -> None:
        self._core, self._db = core, core.db
        # Its own, whatever a test puts in their place meanwhile: another clock must not judge this store's leases.
        self._clock, self._live, self._sessions = core.clock, core.live, core.sessions
        self._resting = core.resting
        self._owner, self._tell, self._wirings = core.owner, core.tell, core._wirings
        self._stopped = False
        self._doubts = Doubts(core)
        self._reconciling, self._recording = _thread.allocate_lock(), _thread.allocate_lock()
        self._wake = _thread.allocate_lock()
        self._wake.acquire()
        self._last_beat = self.renewed = self._clock.monotonic()

    def start(self) -> None:
        """Watch from now on."""
        self._core.threads.spawn(self._on_its_thread)

    def stop(self) -> None:
        """Watch no more."""
        self._stopped = True
        if self._wake.locked():
            self._wake.release()

    def _on_its_thread(self) -> None:
        while not self._stopped:
            self._wake.acquire(timeout=TICK)
            if self._stopped:
                return
            try:
                self.tick(apart=True)
            except Exception as error:
                # A store that is away for a while must not end the watch; what it could not do it does next time.
                if not self._stopped:
                    self._core.hooks.complain("the watch could not reach the store", error)

    def tick(self, everything: bool = False, apart: bool = False) -> None:
        """One round of duties; ``everything``: those of a heartbeat too; ``apart``: see :meth:`beat`."""
        core, now = self._core, self._clock.monotonic()
        if self._live.unrecorded and self._recording.acquire(False):
            # The store may take its time to refuse, and leases must be renewed meanwhile.
            core.threads.spawn(self._record_kept) if apart else self._record_kept()
        attempts = self._live.all()
        if attempts:
            self._pass_on_cancels([a for a in attempts if now - a.since > TICK])
            for attempt in attempts:
                self._bury(attempt)
                self._warn(attempt, now)
        for block, (since, at) in list(self._resting.items()):
            # Whoever takes it out of there has it: this, or the step that comes back to it at the same moment.
            if now - since > BETWEEN_STEPS and self._resting.pop(block, None) is not None:
                self._db.write(block.lapsing(at), "control")
        if everything or now - self._last_beat >= core.settings.heartbeat:
            self._last_beat = now
            self.beat(attempts, apart)

    def beat(self, attempts: list[OpenAttempt], apart: bool = False) -> None:
        """The slower duties, once a heartbeat; ``apart``: tools are asked about their doubts on another thread."""
        core, clock = self._core, self._clock
        lease = micros(core.settings.lease)
        self._db.beat()
        if attempts:
            begun = clock.monotonic()
            self._db.write(renew([(a.row.id, a.row.fence) for a in attempts], lease, clock), "lease")
            self.renewed = begun
        else:
            self.renewed = clock.monotonic()
        if self._sessions:
            held = [(s.ns, s.session, s.token) for s in tuple(self._sessions) if s.session is not None]
            self._db.write(renew_sessions(held, lease, clock), "lease")
            if core.post is not None:
                core.post.hints.keep(held)
        # An end that is being written was lost by nobody, though its lease may be over.
        if not self._recording.locked() and self._db.read(anything_lost(clock.now())):
            self._db.write(sweep(clock, self._owner, self._tell), "recover", True)
        if self._db.read(anything_due(clock.now())):
            self._db.write(expire_due(clock, self._tell), "control")
        if not apart:
            self._doubts.ask()
        elif self._reconciling.acquire(False):
            # A downstream that hangs must not keep this thread from renewing leases.
            core.threads.spawn(self._reconcile_apart)

    def _record_kept(self) -> None:
        try:
            self._live.record(lambda end: self._db.write(end, "record"))
        except StoreError:  # said when it was kept
            pass
        except Exception as error:
            self._core.hooks.complain("an end that was kept could not be recorded", error)
        finally:
            self._recording.release()

    def _reconcile_apart(self) -> None:
        try:
            self._doubts.ask()
        except Exception as error:
            if not self._stopped:
                self._core.hooks.complain("the watch could not reach the store", error)
        finally:
            self._reconciling.release()

    def _pass_on_cancels(self, attempts: list[OpenAttempt]) -> None:
        running = {(a.row.id, a.row.fence): a for a in attempts if not a.context.cancelled}
        if not running:
            return
        for key in self._db.read(asked_to_stop(list(running))):
            attempt = running[key]
            attempt.context.ask_to_stop()
            if attempt.stop is not None:
                attempt.stop()

    def _bury(self, attempt: OpenAttempt) -> None:
        """A coroutine whose loop was closed never ends, and nobody but this thread is left to say so."""
        if attempt.orphaned is not None and attempt.expire is not None and attempt.orphaned():
            self._live.remove(attempt)
            self._db.write(attempt.expire(Lost(entered=True)), "record")

    def _warn(self, attempt: OpenAttempt, now: float) -> None:
        core = self._core
        deadline = attempt.context.deadline
        if (
            attempt.expire is not None
            and not attempt.given_up
            and deadline is not None
            and now > deadline + 1.0
        ):
            # Its event loop is blocked, so its own timeout cannot fire: put the truth on record from here.
            attempt.given_up = True
            self._db.write(attempt.expire(TimedOut(closed=False)), "record")
            return
        if attempt.warned or now - attempt.since < core.settings.overdue:
            return
        attempt.warned = True

        def op(tx: Tx) -> None:
            row = tasks.get(tx, attempt.row.id)
            if row is not None and row.fence == attempt.row.fence and row.state == "RUNNING":
                seconds = round(now - attempt.since, 1)
                told = self._tell("alert", kind="overdue", seconds=seconds)
                tasks.move(tx, row, transitions.overdue(), self._clock.now(), self._owner, told)

        self._db.write(op, "control")
