"""A workflow that waits in this process for a person hears of a decision that was made elsewhere.

A decision of this process is heard at once, and with a queue one of any other process, too. Without one the record is
read again, ever more seldom; where a queue is, that is for when its word was lost.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any

from ax_core import AX, AXError, State, StoreError
from ax_core.hooks import Event

from .events import ApprovalDecision

SETTLE = 0.1
"""Seconds after which a step that paused is known to wait: an event that comes before is heard by nobody."""
FIRST_LOOK = 0.2
"""The first pause, in seconds: a decision may have come between the last look and the wait."""
LAST_LOOK = 5.0
"""The longest pause, in seconds, between two looks at the record."""
TOLD_LOOK = 30.0
"""The same where a queue carries the word."""
_CLOSED = ("confirmed", "rejected", "expired", "cancelled")


@dataclass(frozen=True, eq=False)
class _Sleeper:
    """A waiting call: where it can be woken, and what it waits for."""

    loop: asyncio.AbstractEventLoop
    ctx: Any
    task_id: str


class Waking:
    """The calls of one AX that wait in this process, by request."""

    def __init__(self, ax: AX) -> None:
        self._ax = ax
        self._sleepers: dict[str, _Sleeper] = {}
        self._looking: set[asyncio.Task[None]] = set()
        self._queued = ax._core.queue is not None
        ax.on(*_CLOSED, everywhere=self._queued)(self._decided)

    def sleep(self, request_id: str, task_id: str, ctx: Any) -> None:
        """This call is about to pause."""
        loop = asyncio.get_running_loop()
        sleeper = self._sleepers[request_id] = _Sleeper(loop, ctx, task_id)
        task = loop.create_task(self._look_again(request_id, sleeper))
        self._looking.add(task)
        task.add_done_callback(self._looking.discard)

    def awake(self, request_id: str) -> None:
        """This call is being carried out again: whatever woke it, nothing else must."""
        self._sleepers.pop(request_id, None)

    def _decided(self, event: Event) -> None:
        for request_id, sleeper in list(self._sleepers.items()):
            if sleeper.task_id == event.task_id:
                try:
                    sleeper.loop.call_soon_threadsafe(sleeper.loop.call_later, SETTLE, self._wake, request_id)
                except RuntimeError:  # its loop is closed: nobody waits there any more
                    self._sleepers.pop(request_id, None)

    async def _look_again(self, request_id: str, sleeper: _Sleeper) -> None:
        longest = TOLD_LOOK if self._queued else LAST_LOOK
        pause = FIRST_LOOK
        while True:
            await asyncio.sleep(pause)
            if self._sleepers.get(request_id) is not sleeper:
                return
            pause = min(longest, pause * 1.5)
            try:
                task = await self._ax.aget(sleeper.task_id)
            except StoreError:  # away for a while; nothing is decided by that
                continue
            except AXError:  # closed meanwhile: whoever opens it again is told
                return
            if task.state is not State.CONFIRMING:
                self._wake(request_id)
                return

    def _wake(self, request_id: str) -> None:
        # Once: each event that fits would have the waiting step executed once more.
        sleeper = self._sleepers.pop(request_id, None)
        if sleeper is not None:
            sleeper.ctx.send_event(ApprovalDecision(ax_task_id=sleeper.task_id, decision="decided"))
