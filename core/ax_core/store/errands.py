"""Blocking work for those who must not do it themselves: event loops, and the main thread, which Ctrl-C may hit."""

from __future__ import annotations

import _thread
import asyncio
import threading
from collections import deque
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any, TypeVar, cast

from ..threads import Threads

T = TypeVar("T")
_Ask = tuple[Callable[[], Any], asyncio.AbstractEventLoop, asyncio.Future[Any]]


class Errands:
    """Work on helper threads.

    Args:
        room: how many work for event loops at the same time; further work waits for one of them.
    """

    def __init__(self, threads: Threads, room: int) -> None:
        self._threads = threads
        self._asked: deque[_Ask] = deque()
        self._room: deque[None] = deque([None] * room)
        self._last: _thread.LockType | None = None

    def through(self, work: Callable[[], T]) -> T:
        """Do it and wait: on this thread, or for the main one on another, where it is done to its end in any case."""
        if _thread.get_ident() != threading.main_thread().ident:
            return work()
        box: SimpleQueue[tuple[Any, BaseException | None]] = SimpleQueue()
        done = _thread.allocate_lock()
        done.acquire()
        self._last = done

        def job() -> None:
            try:
                answer: tuple[Any, BaseException | None] = (work(), None)
            except BaseException as error:
                answer = (None, error)
            done.release()
            box.put(answer)

        try:
            self._threads.spawn(job)
        except RuntimeError:  # no further thread is to be had: it has to be this one
            job()
        value, error = box.get()
        if error is not None:
            raise error
        return cast(T, value)

    def flush(self) -> None:
        """Wait for what the main thread asked for last, which it may have turned its back on."""
        last = self._last
        if last is not None:
            with last:
                pass

    def ask(self, work: Callable[[], T]) -> asyncio.Future[T]:
        """Do it for the running loop. To cancel the answer is to lose it; the work is done all the same."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()
        self._asked.append((work, loop, future))
        self._send()
        return future

    def _send(self) -> None:
        """A helper for what is asked, unless as many as may be are at it."""
        try:
            self._room.pop()
        except IndexError:
            return
        try:
            self._threads.spawn(self._help)
        except BaseException:
            self._room.append(None)
            raise

    def _help(self) -> None:
        while self._asked:
            try:
                work, loop, future = self._asked.popleft()
            except IndexError:  # another helper was faster
                break
            try:
                result, error = work(), None
            except BaseException as caught:  # whatever it is, somebody awaits it
                result, error = cast(Any, None), caught
            try:
                loop.call_soon_threadsafe(_answer, future, result, error)
            except RuntimeError:  # its loop is closed
                pass
        self._room.append(None)
        # Something may have been asked between the last look and the end, and found no room.
        if self._asked:
            self._send()


def _answer(future: asyncio.Future[Any], result: Any, error: BaseException | None) -> None:
    if future.done():
        return
    if error is not None:
        future.set_exception(error)
        future.exception()  # a caller that went away must not make the loop complain
    else:
        future.set_result(result)
