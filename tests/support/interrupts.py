"""Ctrl-C at every place where CPython may deliver it, one place per run."""

from __future__ import annotations

import dis
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any


class Interrupter:
    """Raises KeyboardInterrupt in this thread at the ``nth`` place inside the given files where a signal may arrive.

    Places are what follows a call, a function's entry and a loop's jump: there the interpreter looks for signals.

    Attributes:
        reached: whether there were that many places.
        where: file and line of the place.
    """

    def __init__(self, nth: int, *files: str) -> None:
        self._left, self._files = nth, files
        self._before: dict[int, str] = {}
        self._stack: list[FrameType] = []
        self.reached, self.where = False, ""

    def run(self, work: Callable[[], Any]) -> Any:
        """Run ``work`` under the threat; raises KeyboardInterrupt if the place was reached."""
        # Python 3.12 heeds this only where it was set before the tracer was.
        sys._getframe().f_trace_opcodes = True
        sys.settrace(self._enter)
        try:
            return work()
        finally:
            sys.settrace(None)

    def _enter(self, frame: FrameType, event: str, arg: Any) -> Any:
        if not frame.f_code.co_filename.endswith(self._files):
            return None
        frame.f_trace = self._step  # Python 3.13 heeds the next line only where a tracer is set
        frame.f_trace_opcodes = True
        self._before[id(frame)] = ""
        return self._step

    def _step(self, frame: FrameType, event: str, arg: Any) -> Any:
        if event == "line":  # on Python 3.13 another thread that came along here has turned it off, for all
            frame.f_trace_opcodes = True
        if event == "opcode":
            before = self._before.get(id(frame), "")
            self._before[id(frame)] = dis.opname[frame.f_code.co_code[frame.f_lasti]]
            if before.startswith(("CALL", "RESUME", "JUMP_BACKWARD")):
                self._left -= 1
                if self._left == 0:
                    sys.settrace(None)
                    self.reached = True
                    self.where = f"{frame.f_code.co_name}:{frame.f_lineno}"
                    raise KeyboardInterrupt
        return self._step


def everywhere(run: Callable[[Interrupter], None], *files: str, at_most: int = 2000) -> int:
    """Run once per place until there are no more; returns how many there were."""
    for nth in range(1, at_most):
        interrupter = Interrupter(nth, *files)
        run(interrupter)
        if not interrupter.reached:
            return nth - 1
    raise AssertionError(f"more than {at_most} places")
