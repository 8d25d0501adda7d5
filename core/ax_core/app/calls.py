"""Calling tools: submit, wait, or both."""

from __future__ import annotations

from asyncio import _get_running_loop
from typing import TYPE_CHECKING, Any

from ..dispatch import (
    Answer,
    Call,
    Seat,
    Wiring,
    acarry_out,
    calling,
    carry_out,
    current_task,
    following,
    placed,
    prepare,
)
from ..dispatch.beside import aside, beside
from ..dispatch.submit import dispatch_detached, submitting
from ..errors import PolicyError, UnknownTask
from ..model import TaskHandle
from ..states import State
from ..store import tasks
from .serve import runner_of

if TYPE_CHECKING:
    from .core import Core


class Calls:
    """Calls through an AX."""

    _core: Core
    _ns: str

    def call(
        self,
        tool_name: str,
        payload: Any = None,
        *,
        request_id: str | None = None,
        timeout: float | None = None,
        dedupe: str | None = None,
        key: str | None = None,
        repeat: str | None = None,
    ) -> Any:
        """Submit and wait, on this thread; returns the tool's plain value.

        Args:
            request_id: names this decision: the same id again is answered from the record.
            timeout: seconds for the tool's body; cuts the policy's. Zero is no time at all.
            dedupe: another scope than the policy's; ``key``: an idempotency key of the caller's own.
            repeat: a reason why this is meant to happen again; it is audited, and nothing is merged.

        Raises:
            ToolFailed: the tool's answer is no; its ``__cause__`` is the tool's exception.
            AXError: a verdict; see :mod:`ax_core.errors`.
        """
        return self.dispatch(self._call(tool_name, payload, request_id, timeout, dedupe, key, repeat)).get()

    async def acall(
        self,
        tool_name: str,
        payload: Any = None,
        *,
        request_id: str | None = None,
        timeout: float | None = None,
        dedupe: str | None = None,
        key: str | None = None,
        repeat: str | None = None,
    ) -> Any:
        """:meth:`call` on an event loop; an async tool runs on it, a sync one on a thread."""
        answer = await self.adispatch(
            self._call(tool_name, payload, request_id, timeout, dedupe, key, repeat)
        )
        return answer.get()

    def dispatch(self, call: Call, passes: tuple[type[BaseException], ...] = ()) -> Answer:
        """Carry a call out (adapters build their own).

        Raises:
            AXError: a verdict; the tool's own failure is in the answer.
        """
        if _get_running_loop() is None:
            wiring = self._core.wiring(self._ns)
        else:
            wiring = beside(self._core.ready(self._ns) or aside(self._core.threads, self._opened))
        sub = prepare(placed(_outside_transaction(call)), wiring)
        return carry_out(calling(sub, wiring, self._core.settings.wait, passes), wiring)

    def _opened(self) -> Wiring:
        return self._core.wiring(self._ns)

    async def adispatch(self, call: Call, passes: tuple[type[BaseException], ...] = ()) -> Answer:
        """:meth:`dispatch` on an event loop."""
        wiring = await self._core.awiring(self._ns)
        sub = prepare(placed(_outside_transaction(call)), wiring)
        return await acarry_out(calling(sub, wiring, self._core.settings.wait, passes), wiring)

    def submit(
        self,
        tool_name: str,
        payload: Any = None,
        *,
        request_id: str | None = None,
        timeout: float | None = None,
        dedupe: str | None = None,
        key: str | None = None,
        repeat: str | None = None,
    ) -> TaskHandle:
        """Record a call and return at once; it runs on a thread of this process.

        Raises:
            AXError: it was refused.
        """
        call = self._call(tool_name, payload, request_id, timeout, dedupe, key, repeat, origin="submit")
        wiring = self._core.wiring(self._ns)
        sub = prepare(placed(_outside_transaction(call)), wiring)
        seat: Seat = carry_out(submitting(sub, wiring), wiring)
        return dispatch_detached(seat, sub, wiring, self._core.settings.wait)

    async def asubmit(
        self,
        tool_name: str,
        payload: Any = None,
        *,
        request_id: str | None = None,
        timeout: float | None = None,
        dedupe: str | None = None,
        key: str | None = None,
        repeat: str | None = None,
    ) -> TaskHandle:
        """:meth:`submit` on an event loop."""
        call = self._call(tool_name, payload, request_id, timeout, dedupe, key, repeat, origin="submit")
        wiring = await self._core.awiring(self._ns)
        sub = prepare(placed(_outside_transaction(call)), wiring)
        seat: Seat = await acarry_out(submitting(sub, wiring), wiring)
        return dispatch_detached(seat, sub, wiring, self._core.settings.wait)

    def wait_for_result(self, task_id: str, timeout: float | None = None) -> Any:
        """The plain value of a submitted task; runs it here if nobody does and its tool is registered.

        Raises:
            StillRunning: only the wait ran out.
            AXError, ToolFailed: as :meth:`call`.
        """
        wiring = self._core.wiring(self._ns)
        row = wiring.db.read(lambda tx: tasks.get(tx, task_id))
        return carry_out(self._waiting(wiring, row, task_id, timeout), wiring).get()

    async def await_result(self, task_id: str, timeout: float | None = None) -> Any:
        """:meth:`wait_for_result` on an event loop."""
        wiring = await self._core.awiring(self._ns)
        row = await wiring.db.aread(lambda tx: tasks.get(tx, task_id))
        return (await acarry_out(self._waiting(wiring, row, task_id, timeout), wiring)).get()

    def _waiting(self, wiring: Wiring, row: Any, task_id: str, timeout: float | None) -> Any:
        if row is None or row.ns != self._ns:
            raise UnknownTask(f"no task {task_id}", task_id=task_id)
        runner = runner_of(self._core, row.tool)
        patience = self._core.settings.wait if timeout is None else max(0.0, timeout)
        how = "replayed" if row.state == State.SUCCESS else "attached"
        return following(Seat(row, how=how), runner, wiring, patience, for_people=timeout is not None)

    def _call(
        self,
        tool_name: str,
        payload: Any,
        request_id: str | None,
        timeout: float | None,
        dedupe: str | None,
        key: str | None,
        repeat: str | None,
        origin: str = "call",
    ) -> Call:
        return Call(
            self._core.tool(tool_name),
            {} if payload is None else payload,
            request_id=request_id,
            timeout=timeout,
            dedupe=dedupe,
            key=key,
            repeat=repeat,
            origin=origin,
        )


def _outside_transaction(call: Call) -> Call:
    inside = current_task.get()
    if inside is not None and inside.in_transaction:
        raise PolicyError(
            f"tool {call.tool.name!r} was called inside a TRANSACTIONAL body: its write lock is held, so nothing else "
            "can be recorded; call it before or after"
        )
    return call
