"""Carrying out a choreography on the very thread that enters its body; a deadline hands the rest to another thread."""

from __future__ import annotations

import _thread
from collections.abc import Callable, Generator
from functools import partial
from typing import Any, Protocol

from .hands import Slot, apart, attempt, do, given_up
from .steps import Ended, Enter, Step
from .wiring import Wiring


class Deadlines(Protocol):
    """Whoever sees deadlines pass."""

    def add(self, at: float, passed: Callable[[], None]) -> object:
        """Call back when the monotonic clock shows this; the answer is for :meth:`remove`."""

    def remove(self, mark: object) -> None:
        """It need not be told any more."""


class Handover:
    """For a thread that has nothing else to do than this task, so that no second one need wait for its body.

    Args:
        over: told the result or the error, on the thread that came to the end.
    """

    def __init__(
        self,
        choreography: Generator[Step, Any, Any],
        wiring: Wiring,
        deadlines: Deadlines,
        over: Callable[[Any, BaseException | None], None],
    ) -> None:
        self._steps, self._wiring, self._deadlines, self._over = choreography, wiring, deadlines, over

    def begin(self) -> None:
        """Go on here until the end, or until the deadline of a body that does not end."""
        self._go_on(lambda: None)

    def _go_on(self, act: Callable[[], Any]) -> None:
        try:
            while True:
                try:
                    answer = act()
                except BaseException as error:
                    step = self._steps.throw(error)
                else:
                    if answer is _ELSEWHERE:
                        return
                    step = self._steps.send(answer)
                act = partial(self._act, step)
        except StopIteration as stop:
            self._over(stop.value, None)
        except BaseException as error:
            self._over(None, error)

    def _act(self, step: Step) -> Any:
        if (
            not isinstance(step, Enter)
            or step.deadline is None
            or step.body.is_async
            or apart(step, self._wiring)
        ):
            return do(step, self._wiring)
        if step.deadline <= self._wiring.clock.monotonic():
            return do(step, self._wiring)
        return self._enter(step, step.deadline)

    def _enter(self, step: Enter, deadline: float) -> Ended | object:
        slot, first = Slot(), _thread.allocate_lock()
        body = attempt(step, self._wiring, slot)
        mark = self._deadlines.add(deadline, partial(self._passed, step, slot, first))
        body()
        self._deadlines.remove(mark)
        # The body's end or the deadline: whoever is first goes on from here.
        if not first.acquire(False):
            return _ELSEWHERE
        assert slot.ended is not None
        return slot.ended

    def _passed(self, step: Enter, slot: Slot, first: _thread.LockType) -> None:
        if first.acquire(False):
            self._wiring.threads.spawn(partial(self._go_on, partial(given_up, step, slot)))


_ELSEWHERE = object()
