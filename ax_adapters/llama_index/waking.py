"""A workflow that waits in this process for a person hears of a decision that was made elsewhere."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any

from ax_core import AX, AXError, State
from ax_core.hooks import Event

from .events import ApprovalDecision

SETTLE = 0.1
"""Seconds after which a step that paused is known to wait: an event that comes before is heard by nobody."""
_CLOSED = ("confirmed", "rejected", "expired", "cancelled")


@dataclass(frozen=True)
class _Sleeper:
    """A waiting call: where it can be woken, and what it waits for."""

    ax: AX
    loop: asyncio.AbstractEventLoop
    ctx: Any
    task_id: str


_sleepers: dict[str, _Sleeper] = {}
"""By request."""
_strong: set[asyncio.Task[None]] = set()


def sleep(ax: AX, request_id: str, task_id: str, ctx: Any) -> None:
    """This call is about to pause."""
    if not ax.__dict__.get("_llama_index_wakes"):
        ax.__dict__["_llama_index_wakes"] = True
        ax.on(*_CLOSED)(_decided)
    loop = asyncio.get_running_loop()
    _sleepers[request_id] = _Sleeper(ax, loop, ctx, task_id)
    # A decision may have come between the look at the record and this line.
    task = loop.create_task(_look_again(request_id))
    _strong.add(task)
    task.add_done_callback(_strong.discard)


def awake(request_id: str) -> None:
    """This call is being carried out again: whatever woke it, nothing else must."""
    _sleepers.pop(request_id, None)


def _decided(event: Event) -> None:
    for request_id, sleeper in list(_sleepers.items()):
        if sleeper.task_id == event.task_id:
            try:
                sleeper.loop.call_soon_threadsafe(sleeper.loop.call_later, SETTLE, _wake, request_id)
            except RuntimeError:  # its loop is closed: nobody waits there any more
                _sleepers.pop(request_id, None)


async def _look_again(request_id: str) -> None:
    await asyncio.sleep(2 * SETTLE)
    sleeper = _sleepers.get(request_id)
    if sleeper is None:
        return
    try:
        task = await sleeper.ax.aget(sleeper.task_id)
    except AXError:  # closed meanwhile: whoever opens it again is told
        return
    if task.state is not State.CONFIRMING:
        _wake(request_id)


def _wake(request_id: str) -> None:
    # Once: each event that fits would have the waiting step executed once more.
    sleeper = _sleepers.pop(request_id, None)
    if sleeper is not None:
        sleeper.ctx.send_event(ApprovalDecision(ax_task_id=sleeper.task_id, decision="decided"))
