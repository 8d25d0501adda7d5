"""A run whose steps run in contexts of their own: between two of them nobody works in it, and its session may lapse."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from ..clock import micros
from ..dispatch import RunScope, Wiring
from ..sessions import pause
from ..store import Op, locks

if TYPE_CHECKING:
    from .core import Core

BETWEEN_STEPS = 5.0
"""Seconds for which a session is held while no step runs: a host that paused elsewhere is not heard of again."""


class Steps:
    """What adapters do with a run beside opening and closing it."""

    _core: Core
    _ns: str
    _scope: RunScope | None

    def back(self) -> None:
        """A step begins: the session is renewed again. A lapsed one is taken back by the first call."""
        assert self._scope is not None
        self._core.sessions.add(self._scope)

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
        if scope.session is None or scope.id != scope.root_id:  # a sub-run's session is its parent's to hold
            return wiring, lambda tx: None
        session, until = scope.session, wiring.clock.now() + min(wiring.lease, micros(BETWEEN_STEPS))
        return wiring, lambda tx: locks.renew(tx, scope.ns, session, scope.token, until)

    def _pausing(self) -> tuple[Wiring, Op[Any]]:
        scope, wiring = self._leaving()
        return wiring, lambda tx: pause(tx, scope.id, scope.token, wiring.clock.now())

    def _leaving(self) -> tuple[RunScope, Wiring]:
        assert self._scope is not None
        self._core.sessions.discard(self._scope)
        return self._scope, self._core.ready(self._ns) or self._core.wiring(self._ns)
