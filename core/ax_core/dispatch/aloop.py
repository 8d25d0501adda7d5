"""Carrying out a choreography on an event loop, which nothing here ever blocks."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Generator
from typing import Any, TypeVar

from ..decide import Lost, Outcome, Raised, Returned, Stopped, TimedOut
from .body import grace
from .ends import awrite_end
from .hands import Slot, apart, given_up, start
from .steps import Ended, Enter, Look, Step, Write
from .wiring import Wiring

T = TypeVar("T")
_strong: set[asyncio.Task[Any]] = set()
"""Tasks that outlive their caller: the loop itself would let them be collected."""


async def acarry_out(choreography: Generator[Step, Any, T], wiring: Wiring) -> T:
    """Run it to its end; raises what it raises."""
    answer: Any = None
    try:
        step = next(choreography)
        while True:
            try:
                answer = await _do(step, wiring)
            except BaseException as error:
                step = choreography.throw(error)
            else:
                step = choreography.send(answer)
    except StopIteration as stop:
        result: T = stop.value
        return result


async def _do(step: Step, wiring: Wiring) -> Any:
    if isinstance(step, Write):
        return await _write(step, wiring)
    if isinstance(step, Enter):
        return await enter(step, wiring)
    if isinstance(step, Look):
        return await wiring.db.aread(step.op)
    await step.waiter.await_(step.seconds)
    return None


async def _write(step: Write, wiring: Wiring) -> Any:
    writing = wiring.db.queued(step.op, step.name, step.durable)
    try:
        return await asyncio.shield(writing)
    except asyncio.CancelledError:
        if step.abandoned is not None and not writing.cancelled():
            _keep(_abandon(step, writing, wiring))
        raise


async def _abandon(step: Write, writing: asyncio.Future[Any], wiring: Wiring) -> None:
    assert step.abandoned is not None
    try:
        op = step.abandoned(await writing)
        if op is not None:
            await wiring.db.awrite(op, "record")
    except Exception:
        wiring.log.exception("a cancelled caller's claim could not be given back; its lease will expire")


async def enter(step: Enter, wiring: Wiring) -> Ended:
    """Enter a body: an async one on this loop in the caller's context, a sync one on a thread."""
    if step.deadline is not None and step.deadline <= wiring.clock.monotonic():
        return Ended(TimedOut(closed=True, entered=False))
    if step.body.is_async:
        return await on_loop(step, wiring)
    loop, ended = asyncio.get_running_loop(), asyncio.Event()
    slot = Slot()
    slot.wake = lambda: _wake(loop, ended)
    start(step, wiring, slot)
    left = (
        None
        if step.deadline is None or apart(step, wiring)
        else max(0.0, step.deadline - wiring.clock.monotonic())
    )
    try:
        # If the host cancels here, the thread goes on and records how it ended: whoever resumes attaches to it.
        await asyncio.wait_for(ended.wait(), left)
    except TimeoutError:
        wiring.clock.skip(left or 0.0)
        return given_up(step, slot)
    assert slot.ended is not None
    return slot.ended


def _wake(loop: asyncio.AbstractEventLoop, event: asyncio.Event) -> None:
    try:
        loop.call_soon_threadsafe(event.set)
    except RuntimeError:  # the loop is closed: nobody waits there any more
        pass


async def on_loop(step: Enter, wiring: Wiring) -> Ended:
    """Enter an async body on this loop, in the caller's context; it records its own end only where it outlives it."""
    loop, attempt = asyncio.get_running_loop(), step.attempt
    task = step.body.start()
    attempt.stop, attempt.expire, attempt.orphaned = lambda: _cancel(loop, task), step.record, loop.is_closed
    wiring.live.add(attempt)
    left = None if step.deadline is None else max(0.0, step.deadline - wiring.clock.monotonic())
    try:
        await asyncio.wait({task}, timeout=left)
    except asyncio.CancelledError:
        if step.body.policy.on_cancel == "detach":
            _keep(_finish(step, task, wiring))
        else:
            await _cut_off(step, task, wiring)
        raise
    if task.done():
        wiring.live.remove(attempt)
        outcome, error = step.body.ended(task, attempt.context.cancelled)
        return Ended(outcome, None, error)
    wiring.clock.skip(left or 0.0)
    attempt.given_up = True
    attempt.context.ask_to_stop()
    task.cancel()
    try:
        await asyncio.wait({task}, timeout=grace(left))
    except asyncio.CancelledError:
        _keep(_give_up(step, task, wiring))
        raise
    if not task.done():
        wiring.log.warning("tool %s does not end when cancelled; it was given up", attempt.row.tool)
        _keep(_finish(step, task, wiring))
        return Ended(TimedOut(closed=False))
    wiring.live.remove(attempt)
    outcome, error = step.body.ended(task, True)
    return Ended(outcome if isinstance(outcome, Returned) else TimedOut(closed=True), None, error)


async def late_end(step: Enter, ended: Ended, wiring: Wiring) -> None:
    """Record how a body ended that was given up meanwhile, without a word of its loop."""
    outcome = ended.outcome
    if isinstance(outcome, TimedOut):
        if not outcome.closed:
            return  # it goes on; _finish sees to it
        outcome = Stopped(by_itself=False)
    assert outcome is not None
    await awrite_end(step, outcome, wiring)


async def _give_up(step: Enter, task: asyncio.Task[Any], wiring: Wiring) -> None:
    """The host cancelled the caller while its tool was being given up: the timeout is put on record all the same."""
    if not task.done():
        try:
            await awrite_end(step, TimedOut(closed=False), wiring)
        except Exception:
            wiring.log.exception("the timeout of task %s could not be recorded", step.attempt.row.id)
    await _finish(step, task, wiring, interrupted=True)


async def _cut_off(step: Enter, task: asyncio.Task[Any], wiring: Wiring) -> None:
    """The host cancelled the caller: pass it on to the tool, and record the interruption as what it is."""
    task.cancel()
    ending = _keep(_finish(step, task, wiring, interrupted=True))
    try:
        await asyncio.wait({ending}, timeout=grace(None))
    except asyncio.CancelledError:
        pass  # cancelled once more: the ending goes on without us


async def _finish(step: Enter, task: asyncio.Task[Any], wiring: Wiring, interrupted: bool = False) -> None:
    """Wait for a body that outlives its caller, and record its end."""
    while not task.done():
        try:
            await asyncio.wait({task})
        except (
            asyncio.CancelledError
        ):  # the loop is closing: the body was told so as well, and this waits for it
            continue
    outcome: Outcome
    step.attempt.ended = True
    outcome, _ = step.body.ended(task, step.attempt.context.cancelled)
    if interrupted and not isinstance(outcome, Returned) and _by_cancel(outcome):
        outcome = Lost(entered=True)
    try:
        await awrite_end(step, outcome, wiring)
    except Exception:
        wiring.log.exception("the end of task %s could not be recorded", step.attempt.row.id)
    finally:
        wiring.live.remove(step.attempt)


def _by_cancel(outcome: Outcome) -> bool:
    return not isinstance(outcome, Raised) or isinstance(outcome.error, asyncio.CancelledError)


def _cancel(loop: asyncio.AbstractEventLoop, task: asyncio.Task[Any]) -> None:
    try:
        loop.call_soon_threadsafe(task.cancel)
    except RuntimeError:
        pass


def _keep(work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
    task = asyncio.get_running_loop().create_task(work)
    _strong.add(task)
    task.add_done_callback(_strong.discard)
    return task
