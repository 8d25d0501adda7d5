"""A run whose steps run in contexts of their own: between two of them nobody works in it, and its session may lapse."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from ..clock import Micros, micros
from ..dispatch import RunScope, Wiring
from ..sessions import pause
from ..store import Op, Tx, locks

if TYPE_CHECKING:
    from .core import Core

BETWEEN_STEPS = 5.0
"""Seconds for which a run is held while no step runs: a host that paused elsewhere is not heard of again. Then it is
paused, from the moment on at which its last step ended."""


class Steps:
    """What adapters do with a run beside opening and closing it."""

    _core: Core
    _ns: str
    _scope: RunScope | None
    _outer: RunScope | None = None
    _rested = _left_behind = False

    def back(self) -> bool:
        """A step begins: the session is renewed again. False: the run was paused meanwhile; it must be entered again,
        and this block is of no use any more."""
        assert self._scope is not None
        if self._core.resting.pop(self, None) is None and self._rested:
            self._left_behind = True
            return False
        self._rested = False
        self._core.sessions.add(self._scope)
        return True

    def lapsing(self, at: Micros) -> Op[None]:
        """Nobody came back in time: what pauses the run, unless it was entered again."""
        assert self._scope is not None
        scope = self._scope
        self._unhint(scope.session, scope.token)

        def op(tx: Tx) -> None:
            if not self._left_behind:
                pause(tx, scope.id, scope.token, at)

        return op

    def rest(self) -> None:
        """No step runs now: hold the session a little longer, for the next one."""
        wiring, op = self._resting()
        wiring.db.write(op, "control")

    async def arest(self) -> None:
        """:meth:`rest` on an event loop."""
        wiring, op = self._resting()
        await wiring.db.awrite(op, "control")

    def pause(self) -> None:
        """The host waits for a person: let the session go, and stop the run's clock."""
        wiring, op = self._pausing()
        wiring.db.write(op, "control")

    async def apause(self) -> None:
        """:meth:`pause` on an event loop."""
        wiring, op = self._pausing()
        await asyncio.shield(wiring.db.awrite(op, "control"))

    def _resting(self) -> tuple[Wiring, Op[Any]]:
        scope, wiring = self._leaving()
        self._rested = True
        self._core.resting[self] = wiring.clock.monotonic(), wiring.clock.now()
        if scope.session is None or scope.id != scope.root_id:  # a sub-run's session is its parent's to hold
            return wiring, lambda tx: None
        session, until = scope.session, wiring.clock.now() + min(wiring.lease, micros(BETWEEN_STEPS))
        return wiring, lambda tx: locks.renew(tx, scope.ns, session, scope.token, until)

    def _pausing(self) -> tuple[Wiring, Op[Any]]:
        scope, wiring = self._leaving()
        self._unhint(scope.session, scope.token)
        return wiring, lambda tx: pause(tx, scope.id, scope.token, wiring.clock.now())

    def _unhint(self, session: str | None, token: str) -> None:
        """The queue need not say any more that this chain has a session, unless the run around it has it."""
        post = self._core.post
        if post is not None and (self._outer is None or self._outer.session != session):
            post.hints.let_go(self._ns, session, token)

    def _leaving(self) -> tuple[RunScope, Wiring]:
        assert self._scope is not None
        self._core.sessions.discard(self._scope)
        self._core.resting.pop(self, None)
        return self._scope, self._core.ready(self._ns) or self._core.wiring(self._ns)
