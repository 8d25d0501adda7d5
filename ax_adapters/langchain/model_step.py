"""The model's step within its time."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Awaitable, Callable
from typing import Any

from ax_core import TaskTimeout


class StepTooLong(TaskTimeout):
    """The model did not answer in time."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"the model's step took longer than {seconds:g} s; no tool was called by it")


def bounded(step: Callable[[], Any], seconds: float | None) -> Any:
    """Run a model step, for at most so long; one that goes on is left to itself, and its answer is dropped.

    Raises:
        StepTooLong: the time ran out.
    """
    if seconds is None:
        return step()
    box: list[Any] = []
    ended = threading.Event()
    context = contextvars.copy_context()

    def work() -> None:
        try:
            box.append((context.run(step), None))
        except BaseException as error:
            box.append((None, error))
        finally:
            ended.set()

    threading.Thread(target=work, name="ax-model-step", daemon=True).start()
    if not ended.wait(seconds):
        raise StepTooLong(seconds)
    value, error = box[0]
    if error is not None:
        raise error
    return value


async def abounded(step: Callable[[], Awaitable[Any]], seconds: float | None) -> Any:
    """:func:`bounded` on an event loop: the step is cancelled."""
    if seconds is None:
        return await step()
    try:
        async with asyncio.timeout(seconds) as limit:
            return await step()
    except TimeoutError:
        if limit.expired():
            raise StepTooLong(seconds) from None
        raise
