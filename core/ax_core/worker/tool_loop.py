"""The event loop of a worker's async tools, on a thread of its own."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from functools import partial
from typing import Any

from ..threads import Threads
from .relay import Relay

Ended = Callable[[Any, BaseException | None], None]


class ToolLoop:
    """Runs coroutines; it is made when the first one comes.

    Args:
        relay: where those are told that wait for one: they may have to wait for the queue, which the loop must not.
    """

    def __init__(self, threads: Threads, relay: Relay) -> None:
        self._threads, self._relay = threads, relay
        self._loop: asyncio.AbstractEventLoop | None = None
        self._starting = threading.Lock()

    def run(self, coroutine: Coroutine[Any, Any, Any]) -> Any:
        """Run one, and wait for it."""
        return asyncio.run_coroutine_threadsafe(coroutine, self._started()).result()

    def begin(self, coroutine: Coroutine[Any, Any, Any], ended: Ended) -> None:
        """Run one; ``ended`` is told the result or the error, on another thread."""
        over = asyncio.run_coroutine_threadsafe(coroutine, self._started())
        over.add_done_callback(lambda over: self._relay.add(partial(_tell, over, ended)))

    def stop(self) -> None:
        """What still runs is cut off."""
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._loop.stop)

    def _started(self) -> asyncio.AbstractEventLoop:
        with self._starting:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._threads.spawn(self._loop.run_forever)
            return self._loop


def _tell(over: Future[Any], ended: Ended) -> None:
    try:
        answer = over.result()
    except BaseException as error:
        ended(None, error)
    else:
        ended(answer, None)
