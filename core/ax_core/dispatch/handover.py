"""Carrying out a choreography on the very thread that enters its body; what follows a wait goes to another thread."""

from __future__ import annotations

from collections.abc import Callable, Generator
from functools import partial
from typing import Any, Protocol

from .hands import Slot, apart, attempt, do, given_up
from .steps import Ended, Enter, Step, Write
from .wiring import Wiring


class Deadlines(Protocol):
    """Whoever sees deadlines pass."""

    def add(self, at: float, passed: Callable[[], None]) -> object:
        """Call back when the monotonic clock shows this; the answer is for :meth:`remove`."""

    def remove(self, mark: object) -> None:
        """It need not be told any more."""


class Handover:
    """For a thread that has other tasks to go on with: it waits for no commit that somebody else is at.

    Args:
        elsewhere: runs what follows such a commit; it is told so by whoever commits, and must not block.
        over: told the result or the error, on the thread that came to the end.
    """

    def __init__(
        self,
        choreography: Generator[Step, Any, Any],
        wiring: Wiring,
        deadlines: Deadlines,
        elsewhere: Callable[[Callable[[], None]], None],
        over: Callable[[Any, BaseException | None], None],
    ) -> None:
        self._steps, self._wiring, self._deadlines = choreography, wiring, deadlines
        self._elsewhere, self._over = elsewhere, over

    def begin(self) -> None:
        """Go on here until the end, or until something else is waited for: a commit, or a body past its deadline."""
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
        if isinstance(step, Write):
            return self._write(step)
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

    def _write(self, step: Write) -> Any:
        first, answers, turns = First(), list[Callable[[], Any]](), [True]

        def told(result: Any, error: BaseException | None) -> None:
            answers.append(partial(_answer, result, error))
            if not first.is_("told"):
                self._elsewhere(partial(self._go_on_once, turns, answers[0]))

        self._wiring.db.write_later(step.op, step.name, step.durable, told)
        return _ELSEWHERE if first.is_("left") else answers[0]()

    def _go_on_once(self, turns: list[bool], act: Callable[[], Any]) -> None:
        # Whoever told may have been interrupted in the middle of it, so it is told again.
        try:
            turns.pop()
        except IndexError:
            return
        self._go_on(act)

    def _enter(self, step: Enter, deadline: float) -> Ended | object:
        slot, first = Slot(), First()
        # The body's end or the deadline: whoever is first goes on from here.
        body = attempt(step, self._wiring, slot, partial(first.is_, "ended"))
        mark = self._deadlines.add(deadline, partial(self._passed, step, slot, first))
        body()
        self._deadlines.remove(mark)
        if not first.is_("ended"):
            return _ELSEWHERE
        assert slot.ended is not None
        return slot.ended

    def _passed(self, step: Enter, slot: Slot, first: First) -> None:
        if first.is_("passed"):
            self._wiring.threads.spawn(partial(self._go_on, partial(given_up, step, slot)))


class First:
    """Which of two came first."""

    __slots__ = ("_who",)

    def __init__(self) -> None:
        self._who: dict[int, str] = {}

    def is_(self, name: str) -> bool:
        """Whether it is this one, if need be from now on; in one step that no other thread comes between."""
        return self._who.setdefault(0, name) == name


def _answer(result: Any, error: BaseException | None) -> Any:
    if error is not None:
        raise error
    return result


_ELSEWHERE = object()
