"""Who holds which session, as the queue has heard: asked before the database, so that a second chain writes nothing."""

from __future__ import annotations

import _thread
from collections import deque
from collections.abc import Callable, Iterable
from functools import partial

from ..clock import Clock
from ..ports import Transport
from ..store.errands import Errands
from ..threads import Threads

Held = tuple[str, str, str]
"""A hold of a session: (namespace, session, token)."""
SLOW = 0.25
"""Seconds for which a hint is worth a wait: a queue that took longer is not waited for until it is quick again."""
ROOM = 4
"""Threads that ask for event loops at the same time."""
KEPT = 10_000
"""Words to the queue that wait while it is slow; older ones are let go."""


class Hints:
    """What the queue is asked and told of sessions; the lock of record is in the database.

    Hints may be missing, late or wrong, and nobody is refused for one: it only says whether a look is worth while.

    Args:
        seconds: how long a hint lives unless it is kept.
    """

    def __init__(self, transport: Transport, threads: Threads, clock: Clock, seconds: float) -> None:
        self._transport, self._threads, self._clock, self._seconds = transport, threads, clock, seconds
        self._slow = False
        self._errands = Errands(threads, ROOM)
        self._unsaid: deque[Callable[[], object]] = deque(maxlen=KEPT)
        self._saying = _thread.allocate_lock()

    def has_another(self, ns: str, session: str | None, token: str) -> bool:
        """Whether the queue has another token for a session, in one round trip; where it had none, it has this one."""
        return session is not None and self._errands.through(partial(self._has_another, ns, session, token))

    async def ahas_another(self, ns: str, session: str | None, token: str) -> bool:
        """:meth:`has_another` on an event loop."""
        return session is not None and await self._errands.ask(partial(self._has_another, ns, session, token))

    def keep(self, held: Iterable[Held]) -> None:
        """Have the queue hold on to sessions, soon; never blocks."""
        for each in held:
            self._say(partial(self._hold, *each))

    def let_go(self, ns: str, session: str | None, token: str) -> None:
        """Have the queue let go of a session, soon, if it is still this token's; never blocks."""
        if session is not None:
            self._say(partial(self._transport.let_go, ns, session, token))

    def _has_another(self, ns: str, session: str, token: str) -> bool:
        if self._slow:
            self.keep([(ns, session, token)])  # tells whether it is quick again
            return False
        return self._hold(ns, session, token) not in (None, token)

    def _hold(self, ns: str, session: str, token: str) -> str | None:
        begun = self._clock.monotonic()
        held = self._transport.hold(ns, session, token, self._seconds)
        self._slow = self._clock.monotonic() - begun > SLOW
        return held

    def _say(self, word: Callable[[], object]) -> None:
        self._unsaid.append(word)
        if self._saying.acquire(False):
            self._threads.spawn(self._on_its_thread)

    def _on_its_thread(self) -> None:
        while True:
            while self._unsaid:
                self._unsaid.popleft()()
            self._saying.release()
            # Something may have come between the last look and the release, and found this one still busy.
            if not self._unsaid or not self._saying.acquire(False):
                return
