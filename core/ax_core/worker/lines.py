"""Tasks of limited tools that wait for their turn: a line for each tool, of which only the first one asks."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, Protocol

from ..clock import Clock
from ..errors import TransportError
from ..ports import Delivery, Limiter
from ..rates import rate_of
from ..registry import Tool

MOST = 1000
"""Tasks in the lines of one worker; what comes then is found in the database again, later."""
LOOK_AGAIN = 0.2
"""Seconds between two looks, more or less, whether another worker has given its place back."""
AWAY = 1.0
"""The same while the queue is away: a limit that nobody can ask about lets nothing pass."""


Turn = Literal["now", "later", "never"]


class Waiting(NamedTuple):
    """A task in a line. ``delivery``: what the queue handed out for it, which is kept meanwhile."""

    task_id: str
    ns: str
    delivery: Delivery | None


class Begin(Protocol):
    """Begins tasks whose turn it is, each in a slot of its own; how many there are that had none already."""

    def __call__(self, jobs: Sequence[Waiting], admitted: bool) -> int: ...


@dataclass
class Line:
    """The line of one tool; ``due``: when its first may ask again."""

    tool: Tool[..., Any]
    due: float
    waiting: deque[Waiting] = field(default_factory=deque)


class Lines:
    """The limits of tools, as one worker keeps them together with all others.

    Args:
        owner: the name of this worker, in which it holds places.
        lease: seconds for which a place is held without being renewed.
        bell: told that a line may go on.
    """

    def __init__(
        self, limiter: Limiter, clock: Clock, owner: str, lease: float, begin: Begin, bell: Callable[[], None]
    ) -> None:
        self._limiter, self._clock, self._owner, self._lease = limiter, clock, owner, lease
        self._begin, self._bell = begin, bell
        self._lines: dict[str, Line] = {}
        self._standing: set[str] = set()
        self._held: dict[str, str] = {}
        self._lock, self._advancing, self._placing = threading.Lock(), threading.Lock(), threading.Lock()

    def turn(self, tool: Tool[..., Any], waiting: Waiting) -> Turn:
        """Whether a task may run now; else it stands in line, or is turned away where too many do."""
        with self._lock:
            line = self._lines.get(tool.name)
            if line is not None and line.waiting:
                return self._stand(line, waiting)
        wait = self._ask(tool, waiting.task_id)
        if wait <= 0:
            return "now"
        with self._lock:
            line = self._lines.setdefault(tool.name, Line(tool, 0.0))
            if not line.waiting:
                line.due = self._clock.monotonic() + wait
            return self._stand(line, waiting)

    def over(self, task_id: str) -> None:
        """A task that was admitted has ended, or was not run after all; nothing where it holds no place."""
        name = self._give(task_id)
        if name is not None and (line := self._lines.get(name)) is not None and line.waiting:
            line.due = self._clock.monotonic()
            self._bell()

    def advance(self, room: int) -> None:
        """Begin those whose turn it is, as far as there is room."""
        if not self._standing or not self._advancing.acquire(False):
            return
        try:
            for line in list(self._lines.values()):
                while room > 0 and line.waiting and line.due <= self._clock.monotonic():
                    room -= self._first(line)
        finally:
            self._advancing.release()

    def keep(self) -> None:
        """Hold on to the places of what runs."""
        with self._placing:  # one that is given back meanwhile would be taken again, for nobody
            if held := [(name, self._holder(task_id)) for task_id, name in self._held.items()]:
                self._limiter.keep_places(held, self._lease)

    def leave(self) -> list[Delivery]:
        """Nobody stands here any more; what the queue handed out for those who did."""
        with self._lock:
            left = self.deliveries
            self._lines.clear()
            self._standing.clear()
        return left

    @property
    def due(self) -> float | None:
        """When the next may ask, as a reading of the monotonic clock."""
        return min((line.due for line in list(self._lines.values()) if line.waiting), default=None)

    @property
    def deliveries(self) -> list[Delivery]:
        """What the queue handed out for those who stand here."""
        lines = [list(line.waiting) for line in list(self._lines.values())]
        return [each.delivery for line in lines for each in line if each.delivery is not None]

    def __contains__(self, task_id: str) -> bool:
        return task_id in self._standing

    def __len__(self) -> int:
        return len(self._standing)

    def _stand(self, line: Line, waiting: Waiting) -> Turn:
        if len(self._standing) >= MOST:
            return "never"
        self._standing.add(waiting.task_id)
        line.waiting.append(waiting)
        return "later"

    def _first(self, line: Line) -> int:
        """Let the first of a line go, if it may."""
        first = line.waiting[0]
        wait = self._ask(line.tool, first.task_id)
        if wait > 0:
            line.due = self._clock.monotonic() + wait
            return 0
        with self._lock:
            if not line.waiting or line.waiting[0] is not first:  # they have left meanwhile
                self.over(first.task_id)
                return 0
            line.waiting.popleft()
            self._standing.discard(first.task_id)
        if self._begin([first], admitted=True):
            return 1
        # The thread that brought it here has not left its slot yet, or another entry of it runs: it asks again.
        self.over(first.task_id)
        with self._lock:
            self._standing.add(first.task_id)
            line.waiting.appendleft(first)
            line.due = self._clock.monotonic() + LOOK_AGAIN
        return 0

    def _ask(self, tool: Tool[..., Any], task_id: str) -> float:
        """0: it may run, and its place is taken; else the seconds after which to ask again."""
        policy = tool.policy
        try:
            if policy.concurrency is not None:
                if not self._limiter.take_place(
                    tool.name, policy.concurrency, self._holder(task_id), self._lease
                ):
                    return LOOK_AGAIN * (0.5 + self._clock.random())
                with self._placing:
                    self._held[task_id] = tool.name
            wait = 0.0 if policy.rate is None else self._limiter.count(tool.name, rate_of(policy.rate))
        except TransportError:
            wait = AWAY
        if wait > 0:
            self._give(task_id)
        return wait

    def _give(self, task_id: str) -> str | None:
        """Give a place back; of which tool it was."""
        with self._placing:
            name = self._held.pop(task_id, None)
            if name is not None:
                self._limiter.give_place(name, self._holder(task_id))
            return name

    def _holder(self, task_id: str) -> str:
        return f"{self._owner}/{task_id}"
