"""One execution of a node as LangGraph pauses and resumes it: its resume values by number, and how to ask for one."""

from __future__ import annotations

import dataclasses
import inspect
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ax_core import Task, keys

from ..bridge import Newest
from .answers import answers_to
from .inside import Untaken, under, whole
from .slots import NESTED, Slot


class Execution:
    """What the calls of one execution of a node share.

    Attributes:
        offered: what is raised to ask a question, before the question is on the trail.
        refused: an answer was none; who would ask raises this instead.
        passed: numbers that code of the node itself must not be given.
        begun: it is known for whom the value is that came last.
        untaken_for: the task in whose body a graph takes it, "" where AX does, None where nobody under AX asked.
        spent: it was taken, though LangGraph may still show it.
    """

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.offered: dict[Slot, BaseException] = {}
        self.refused: BaseException | None = None
        self.passed: set[int] = set()
        self.begun = False
        self.untaken_for: str | None = None
        self.spent = False


executions: Newest[Execution] = Newest(Execution)


class Node:
    """A node that runs, as one of its calls sees it.

    Attributes:
        trail: where its questions are noted: the same in every execution of this step of the graph.
    """

    def __init__(self, config: Mapping[str, Any]) -> None:
        self._config = config
        conf: Mapping[str, Any] = config["configurable"]
        self._pad = whole(conf["__pregel_scratchpad"])
        self._send = conf.get("__pregel_send", _nothing)
        self.here = executions.of(self._pad)
        self.thread, self.place = conf.get("thread_id"), str(conf.get("checkpoint_ns") or "")
        self.trail = f"lg-asked:{keys.digest(str(self.thread or ''), self.place)[:40]}"

    @property
    def resumed(self) -> bool:
        """Whether there are values at all."""
        return bool(self._pad.resume) or self._pad.get_null_resume(False) is not None

    @property
    def next(self) -> int:
        """The number that the next answer will have."""
        return len(self._pad.resume)

    def value(self, number: int) -> Any:
        """A resume value; None: it has not come."""
        if number < len(self._pad.resume):
            return self._pad.resume[number]
        if number > len(self._pad.resume) or self.here.spent or self.here.untaken_for != "":
            return None
        return self._pad.get_null_resume(False)

    def begin(self, waiting: Slot | None) -> None:
        """Before anything is asked in this execution: ``waiting`` is what the value is for that came last."""
        with self.here.lock:
            if not self.here.begun:
                self.here.begun = True
                nested = waiting is not None and waiting.kind == NESTED
                self.here.untaken_for = None if waiting is None else waiting.task_id if nested else ""

    def take(self, number: int, checked: Task | None) -> bool:
        """Let LangGraph save a value as given; what is no answer to ``checked`` is refused before. False: it is gone.

        Raises:
            ValidationError: it is refused.
        """
        from langgraph.errors import GraphInterrupt

        with self.here.lock:
            if self.value(number) is None:
                return False
            self.here.spent = self.here.spent or number == self.next
            try:
                self._interrupt({}, checked, lambda: number, self._pad.get_null_resume)
            except GraphInterrupt:
                return False
            return True

    def keep(self, number: int) -> bool:
        """Put a value that a tool's body will take in its place, before anybody else takes that number."""
        with self.here.lock:
            if number < self.next:
                return True
            value = None if self.value(number) is None else self._pad.get_null_resume(True)
            self.here.spent = True
            if value is not None:
                self._pad.resume.append(value)
            return value is not None

    def save(self) -> None:
        """Let LangGraph keep every value so far, though not all were taken yet."""
        if self._pad.resume:
            self._send([("__resume__", list(self._pad.resume))])

    def asks(self, payload: Any, checked: Task | None = None) -> BaseException:
        """What LangGraph's ``interrupt`` would raise now."""
        from langgraph.errors import GraphInterrupt

        try:
            self._interrupt(payload, checked, lambda: self.next, _nothing)
        except GraphInterrupt as asked:
            return asked
        raise AssertionError("an interrupt that has no value went on")

    def step_over(self, numbers: Sequence[int]) -> None:
        """Code of the node itself counts its interrupts, too: let it not be given these."""
        for number in numbers:
            if number < self.next and number not in self.here.passed:
                self.here.passed.add(number)
                self._pad.interrupt_counter()

    def seen_by_body(self, numbers: Sequence[int], task_id: str | None) -> dict[str, Any]:
        """The part of the config under which the body of a task is given its own values and no other.

        Args:
            numbers: its values so far; the next that it asks for is new.
        """
        left = iter(numbers)
        null = Untaken(self._pad, self._consumed, self.here.untaken_for in (None, task_id))
        return self._view(lambda: next(left, self.next), null)

    def _consumed(self) -> None:
        self.here.spent = True

    def _interrupt(self, payload: Any, checked: Task | None, number: Callable[[], int], null: Any) -> None:
        from langgraph.types import interrupt

        schema = (
            {}
            if checked is None or not _takes_schema(interrupt)
            else {"response_schema": answers_to(checked)}
        )
        with under(self._view(number, null), self._config):
            interrupt(payload, **schema)

    def _view(self, number: Callable[[], int], null: Any) -> dict[str, Any]:
        def send(writes: Sequence[tuple[str, Any]]) -> None:
            # LangGraph saves the values up to the one that was taken, and the last to save wins.
            self._send([(to, list(self._pad.resume) if to == "__resume__" else what) for to, what in writes])

        pad = dataclasses.replace(self._pad, interrupt_counter=number, get_null_resume=null)
        return {"__pregel_scratchpad": pad, "__pregel_send": send}


def _nothing(_: Any = None) -> None:
    return None


def _takes_schema(interrupt: Any) -> bool:
    return "response_schema" in inspect.signature(interrupt).parameters
