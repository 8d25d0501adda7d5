"""One body in one cell, from its begin to its end: its questions are answered, and its limits are kept."""

from __future__ import annotations

from typing import Any

from ..decide import Lost, Outcome, Returned, Stopped, TimedOut
from ..dispatch.body import grace
from ..dispatch.steps import Enter
from ..dispatch.wiring import Wiring
from ..errors import TaskCancelled
from .cell import Cell
from .inner import attempt_of
from .outcomes import from_message, refusal
from .wire import Message

INTERRUPT: Message = {"kind": "interrupt"}


class Visit:
    """Give an attempt to a cell and see it through.

    Attributes:
        ended: the cell was killed, or has ended by itself; else it can be used again.
    """

    def __init__(self, step: Enter, cell: Cell, wiring: Wiring) -> None:
        self._step, self._cell, self._wiring = step, cell, wiring
        self._context, self._row = step.attempt.context, step.attempt.row
        self._of = attempt_of(self._row)
        self._begun = self.ended = False

    def cancel(self) -> None:
        """Ask the body to stop, and kill it where it does not. For any thread, and at any time."""
        self._cell.heard.put({"kind": "cancel", "of": self._of})

    def outcome(self) -> Outcome:
        """Return once the body is over, by itself or killed: at its deadline, by a cancel, or by an interruption."""
        if self._context.lapsed or self._context.cancelled:
            return Lost(entered=False)
        if not self._cell.send("job", row=list(self._row), remaining=self._context.remaining()):
            return self._kill(Lost(entered=False))
        limit, late = self._step.deadline, TimedOut(closed=True)
        over: Outcome = late
        while True:
            left = None if limit is None else limit - self._wiring.clock.monotonic()
            said = self._cell.next(left) if left is None or left > 0 else None
            if said is None:
                return self._kill(over)
            match said["kind"]:
                case "over":
                    return from_message(said, self._wiring.codec)
                case "begun":
                    self._begun = True
                case "ended":
                    return self._died()
                case "interrupt":
                    return self._kill(Lost(entered=True))
                case "cancel" if said["of"] == self._of:
                    self._cell.send("stop")
                    # It may look and stop by itself, which says more than its death.
                    soon = self._wiring.clock.monotonic() + grace(self._step.body.policy.timeout)
                    if limit is None or soon < limit:
                        limit, over = soon, Stopped(by_itself=False)
                case _:
                    self._hear(said)

    def _hear(self, said: Message) -> None:
        if said["kind"] == "progress" and said["of"] == self._of:
            self._context.progress(said["fraction"], said["text"])
        elif said["kind"] == "ask":
            # On another thread: a store that is slow must not keep this one from the deadline.
            self._wiring.threads.spawn(lambda: self._answer(said))

    def _answer(self, said: Message) -> None:
        try:
            reply: Message = {"value": self._answered(said)}
        except Exception as error:
            reply = refusal(error)
        self._cell.send("answer", to=said["id"], **reply)

    def _answered(self, said: Message) -> Any:
        if said["of"] != self._of:
            over = "that attempt is over; nothing may be done for it any more"
            raise TaskCancelled(over, task_id=said["of"].partition("/")[0])
        match said["what"]:
            case "about_to_act":
                self._context.about_to_act()
            case "spend":
                self._context.spend(said["units"])
            case "results":
                return {
                    key: self._wiring.codec.encode(value).text for key, value in self._context.results.items()
                }
        return None

    def _kill(self, outcome: Outcome) -> Outcome:
        self.ended = True
        self._cell.end(grace(self._step.body.policy.timeout))
        while (said := self._cell.next(0)) is not None:
            self._begun = self._begun or said["kind"] == "begun"
            if said["kind"] == "over" and isinstance(
                last := from_message(said, self._wiring.codec), Returned
            ):
                return last  # it came back just before
        if self._begun:
            return outcome
        return TimedOut(closed=True, entered=False) if isinstance(outcome, TimedOut) else Lost(entered=False)

    def _died(self) -> Outcome:
        self.ended = True
        self._cell.end(0.0)
        self._wiring.log.warning(
            "the process of task %s (%s) ended before its tool did: %s",
            self._row.id,
            self._row.tool,
            self._cell.said,
        )
        return Lost(entered=self._begun)
