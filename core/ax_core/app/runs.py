"""``with ax.run(...)``: the block in which calls belong to one intent."""

from __future__ import annotations

import asyncio
from contextvars import Token
from typing import TYPE_CHECKING, Any

from ..control import cancel_run
from ..dispatch import RunScope, Wiring, current_run, current_task
from ..dispatch.call import bounded
from ..dispatch.spend import a_round
from ..errors import AXError, PolicyError, SessionBusy
from ..faults import Crash
from ..model import Budget, RunRow
from ..sessions import enter, leave, refusal
from ..sessions.runs import Opening
from ..states import Reason
from ..store import Op
from .steps import Steps

if TYPE_CHECKING:
    from types import TracebackType

    from .core import Core

ON_BUSY = ("refuse", "wait", "supersede")
LOOK_AGAIN = 0.1


class RunBlock(Steps):
    """A run as its block sees it; ``with`` or ``async with``.

    Attributes:
        id: the run's id, known once entered.
        session: the session it holds.
    """

    def __init__(
        self,
        core: Core,
        ns: str,
        *,
        session: str | None,
        intent: str | None,
        key: str | None,
        on_busy: str,
        budget: Budget | None,
        wait: float | None,
    ) -> None:
        if on_busy not in ON_BUSY:
            raise PolicyError(f"on_busy={on_busy!r} is unknown; one of {', '.join(map(repr, ON_BUSY))}")
        bounded("session", session)
        bounded("key", key)
        self._core, self._ns = core, ns
        self._ask = (session, intent, key, budget or Budget())
        self._on_busy, self._wait = on_busy, wait
        self._scope: RunScope | None = None
        self._token: Token[RunScope | None] | None = None
        self.id = ""
        self.session = session

    def __enter__(self) -> RunBlock:
        self._token = current_run.set(self.open())
        return self

    async def __aenter__(self) -> RunBlock:
        self._token = current_run.set(await self.aopen())
        return self

    def open(self) -> RunScope:
        """Open the run without a block (adapters do, whose steps run in contexts of their own)."""
        wiring = self._core.wiring(self._ns)
        opening, give_up = self._opening(wiring), self._give_up(wiring)
        looks = wiring.post is not None and wiring.post.hints.has_another(*_hint(opening))
        while True:
            entered = wiring.db.read(_refusal_op(opening, wiring)) if looks else None
            if entered is None:
                entered = wiring.db.write(_enter_op(opening, wiring), "control", durable=True)
            if not isinstance(entered, SessionBusy) or not self._may_wait(entered, wiring, give_up):
                return self._entered(entered, opening)
            looks = True  # whoever waits writes nothing meanwhile
            if self._on_busy == "supersede":
                wiring.db.write(self._supersede_op(entered, wiring), "control", durable=True)
            with wiring.waiters.of(f"session:{self.session}") as waiter:
                waiter.wait(LOOK_AGAIN)

    async def aopen(self) -> RunScope:
        """:meth:`open` on an event loop."""
        wiring = await self._core.awiring(self._ns)
        opening, give_up = self._opening(wiring), self._give_up(wiring)
        looks = wiring.post is not None and await wiring.post.hints.ahas_another(*_hint(opening))
        while True:
            entered = await wiring.db.aread(_refusal_op(opening, wiring)) if looks else None
            if entered is None:
                entered = await wiring.db.awrite(_enter_op(opening, wiring), "control", durable=True)
            if not isinstance(entered, SessionBusy) or not self._may_wait(entered, wiring, give_up):
                return self._entered(entered, opening)
            looks = True
            if self._on_busy == "supersede":
                await wiring.db.awrite(self._supersede_op(entered, wiring), "control", durable=True)
            await asyncio.sleep(LOOK_AGAIN)
            wiring.clock.skip(LOOK_AGAIN)

    def round(self) -> float | None:
        """Count one decision round of the model; the seconds that the run has left, None where they are not limited.

        Raises:
            BudgetExceeded: the run has no more of them.
        """
        wiring = self._core.wiring(self._ns)
        refused, left = wiring.db.write(a_round(wiring, self.id), "control")
        if refused is not None:
            raise refused
        return left

    async def around(self) -> float | None:
        """:meth:`round` on an event loop."""
        wiring = await self._core.awiring(self._ns)
        refused, left = await wiring.db.awrite(a_round(wiring, self.id), "control")
        if refused is not None:
            raise refused
        return left

    def close(self, kind: type[BaseException] | None = None) -> None:
        """End what :meth:`open` began; ``kind`` is the exception that ended it."""
        if (op := self._left(kind)) is not None:
            self._core.wiring(self._ns).db.write(op, "control")

    async def aclose(self, kind: type[BaseException] | None = None) -> None:
        """:meth:`close` on an event loop."""
        if (op := self._left(kind)) is not None:
            wiring = await self._core.awiring(self._ns)
            await asyncio.shield(wiring.db.awrite(op, "control"))

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._out()
        self.close(kind)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._out()
        await self.aclose(kind)

    def _out(self) -> None:
        assert self._token is not None
        current_run.reset(self._token)

    def _give_up(self, wiring: Wiring) -> float | None:
        return None if self._wait is None else wiring.clock.monotonic() + self._wait

    def _may_wait(self, busy: SessionBusy, wiring: Wiring, give_up: float | None) -> bool:
        if self._on_busy == "refuse":
            return False
        return give_up is None or wiring.clock.monotonic() < give_up

    def _opening(self, wiring: Wiring) -> Opening:
        session, intent, key, budget = self._ask
        outer, inside = current_run.get(), current_task.get()
        self._outer = outer
        if not self.id:
            self.id = wiring.clock.new_id()
        return Opening(
            id=self.id,
            ns=self._ns,
            key=key,
            session=session,
            intent=intent,
            budget=budget,
            parent_run_id=outer.id if outer else None,
            parent_task_id=inside.task_id if inside else None,
            token=f"{wiring.owner}/{self.id}" if outer is None else outer.token,
            lease=wiring.lease,
        )

    def _supersede_op(self, busy: SessionBusy, wiring: Wiring) -> Op[Any]:
        run_id = busy.run_id or ""
        return lambda tx: cancel_run(
            tx,
            self._ns,
            run_id,
            wiring.owner,
            wiring.clock.now(),
            wiring.tell,
            Reason.SUPERSEDED,
            let_go=True,
        )

    def _entered(self, entered: RunRow | AXError, opening: Opening) -> RunScope:
        if isinstance(entered, AXError) or entered.session != opening.session:
            self._unhint(opening.session, opening.token)
        if isinstance(entered, AXError):
            raise entered
        self.id, self.session = entered.id, entered.session
        scope = RunScope(entered.id, entered.root_id, entered.ns, entered.session, entered.lock_token or "")
        self._scope = scope
        self._core.sessions.add(scope)
        return scope

    def _left(self, kind: type[BaseException] | None) -> Op[Any] | None:
        assert self._scope is not None
        self._core.sessions.discard(self._scope)
        self._core.resting.pop(self, None)
        if kind is not None and issubclass(kind, Crash):
            return None  # who died releases nothing
        scope, clock = self._scope, self._core.clock
        self._unhint(scope.session, scope.token)
        failed = kind is not None and issubclass(kind, Exception)
        interrupted = kind is not None and not failed
        return lambda tx: leave(
            tx, scope.id, scope.token, clock.now(), failed=failed, interrupted=interrupted
        )


def _hint(opening: Opening) -> tuple[str, str | None, str]:
    return opening.ns, opening.session, opening.token


def _refusal_op(opening: Opening, wiring: Wiring) -> Op[RunRow | AXError | None]:
    return lambda tx: refusal(tx, opening, wiring.clock.now())


def _enter_op(opening: Opening, wiring: Wiring) -> Op[RunRow | AXError]:
    return lambda tx: enter(tx, opening, wiring.clock.now())
