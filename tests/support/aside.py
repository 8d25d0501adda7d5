"""Calls beside the test's own thread."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from typing import Any


class Aside:
    """A call on a daemon thread; ``result()`` returns or raises what it did."""

    def __init__(self, fn: Callable[[], Any]) -> None:
        self._fn, self._value, self._error = fn, None, None
        self._ended = threading.Event()
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self) -> None:
        try:
            self._value = self._fn()
        except BaseException as error:
            self._error = error
        finally:
            self._ended.set()

    @property
    def ended(self) -> bool:
        """Whether it came back."""
        return self._ended.is_set()

    def result(self, timeout: float = 20.0) -> Any:
        """What came of it."""
        assert self._ended.wait(timeout), "the call never came back"
        if self._error is not None:
            raise self._error
        return self._value


def together(fns: Iterable[Callable[[], Any]]) -> list[Any]:
    """Start all at the same moment; the value of each, or the exception it raised."""
    fns = list(fns)
    line = threading.Barrier(len(fns))

    def held(fn: Callable[[], Any]) -> Any:
        line.wait(20)
        return fn()

    calls = [Aside(lambda fn=fn: held(fn)) for fn in fns]
    return [outcome(call.result) for call in calls]


def outcome(fn: Callable[[], Any]) -> Any:
    """What a call returns, or the exception it raises, as a value."""
    try:
        return fn()
    except Exception as error:
        return error
