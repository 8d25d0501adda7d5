"""Event loops of AX's own, on daemon threads, for async tools that sync code calls."""

from __future__ import annotations

import _thread
import asyncio
import contextvars
import os

from ..decide import Lost, Raised, TimedOut
from .aloop import late_end, on_loop
from .body import grace
from .ends import write_end
from .hands import Slot
from .steps import Ended, Enter
from .wiring import Wiring

SLACK = 0.05
"""Seconds in which a loop that is not blocked comes round."""

_depth: contextvars.ContextVar[int] = contextvars.ContextVar("ax_depth", default=0)
"""On how many of these loops the caller stands already. A body that calls a tool blocks its own loop meanwhile, so
what it calls runs on the next one, and a loop only ever waits for a deeper one."""


class PrivateLoops:
    """Loops by depth; each is started on first use, and again in a forked child, where its thread does not exist."""

    def __init__(self) -> None:
        self._loops: dict[tuple[int, int], asyncio.AbstractEventLoop] = {}

    def at(self, depth: int) -> asyncio.AbstractEventLoop:
        """The running loop of a depth."""
        key = os.getpid(), depth
        loop = self._loops.get(key)
        if loop is None:
            made = asyncio.new_event_loop()
            _thread.start_new_thread(_live, (made,))
            loop = self._loops.setdefault(key, made)
            if loop is not made:
                made.call_soon_threadsafe(made.stop)
        return loop

    def leave(self, loop: asyncio.AbstractEventLoop) -> None:
        """A body blocks this one: it may go on there, but nothing more is put on it."""
        for key in [key for key, known in self._loops.items() if known is loop]:
            del self._loops[key]

    def __len__(self) -> int:
        return len(self._loops)


private_loops = PrivateLoops()


def on_private_loop(step: Enter, wiring: Wiring) -> Ended:
    """Enter an async body for a sync caller, in a copy of its context, and wait."""
    depth = _depth.get()
    loop, slot = private_loops.at(depth), Slot()
    context = contextvars.copy_context()
    context.run(_depth.set, depth + 1)
    begun: list[asyncio.Task[None]] = []
    over = (
        _thread.allocate_lock()
    )  # taken by the body's end or by the caller that goes, whichever comes first

    async def work() -> None:
        try:
            if not slot.take():
                return
            ended = await on_loop(step, wiring)
            if over.acquire(False):
                slot.ended = ended
            else:
                await late_end(step, ended, wiring)
        except BaseException as error:
            slot.ended = Ended(Raised(error), None, error)
        finally:
            slot.wake()

    def give_back() -> None:
        write_end(step, Lost(entered=False), wiring)

    def cut_off() -> None:
        if begun:
            begun[0].cancel()
        else:
            wiring.threads.spawn(give_back)

    try:
        loop.call_soon_threadsafe(lambda: begun.append(loop.create_task(work(), context=context)))
        if not slot.wait(_patience(step, wiring)):
            entered = not slot.take()
            if not entered or over.acquire(False):
                # A body blocks the loop, this one or another, so that no timeout can fire there.
                private_loops.leave(loop)
                step.attempt.given_up = True
                step.attempt.context.ask_to_stop()
                return Ended(TimedOut(closed=not entered, entered=entered))
            slot.wait(None)
    except BaseException:
        # Ctrl-C is to a thread what its host's cancellation is to a coroutine. The body is let begin first, if it may.
        loop.call_soon_threadsafe(loop.call_soon, cut_off)
        raise
    assert slot.ended is not None
    return slot.ended


def _patience(step: Enter, wiring: Wiring) -> float | None:
    """How long the loop itself may take to time the body out."""
    if step.deadline is None:
        return None
    left = max(0.0, step.deadline - wiring.clock.monotonic())
    return left + grace(left) + SLACK


def _live(loop: asyncio.AbstractEventLoop) -> None:
    while True:
        try:
            loop.run_forever()
        except BaseException:  # a tool that raises SystemExit stops its loop, but not those who wait on it
            continue
        loop.close()
        return
