"""A crew of a worker: the slots for some queues, and what keeps them busy."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..errors import PolicyError
from ..names import checked_name
from ..ports import Limiter, Source
from .acks import Acks
from .bench import Bench
from .fetching import Fetching
from .lines import Lines
from .pace import Pace
from .running import Running
from .slots import Slots
from .upkeep import Upkeep

if TYPE_CHECKING:
    from ..app.core import Core
    from .rollbacks import Rollbacks


class Crew:
    """Fetches from its queues what it has room for, and runs it in slots that nothing else can take.

    Args:
        queues: the first named goes first.
        size: how many tasks at once.
    """

    def __init__(self, core: Core, running: Running, pace: Pace, queues: Sequence[str], size: int) -> None:
        self._core, self._running, self._pace, self.queues = core, running, pace, tuple(queues)
        self.slots = Slots(size)
        self._source: Source | None = None
        self._lines: Lines | None = None

    def begin(self, limiter: Limiter | None, rollbacks: Rollbacks | None) -> None:
        """Open its end of the queue, and see to what needs no fetching.

        Args:
            limiter: None: no limits are kept.
            rollbacks: of the whole worker, where this crew sees to them.
        """
        core = self._core
        assert core.post is not None
        source = self._source = core.post.transport.source(core.clock.new_id(), self.queues)
        self._bench = bench = Bench(core, self._running, self.slots, self._pace, Acks(source))
        self._upkeep = upkeep = Upkeep(
            core, source, self.slots, bench.begin, lambda: bench.room, self.queues, rollbacks
        )
        bench.retry = upkeep.retry
        if limiter is not None:
            lines = Lines(limiter, core.clock, core.owner, core.settings.lease, bench.begin, upkeep.ring)
            self._lines = bench.lines = upkeep.lines = lines
        core.threads.spawn(upkeep.run)

    def fetch(self, stopping: threading.Event) -> None:
        """Begin what the queues bring, until ``stopping`` is set."""
        assert self._source is not None
        Fetching(self._core, self._source, self._bench, self.slots, self._pace, self._upkeep).run(stopping)

    def close(self) -> None:
        """Begin nothing more; what stands in line goes back."""
        self._upkeep.close()
        if self._lines is not None and self._source is not None:
            self._source.give_back(self._lines.leave())

    def end(self) -> None:
        """Let go of the queue, whatever still runs."""
        self._upkeep.stop()
        if self._source is not None:
            self._source.close()

    @property
    def running(self) -> int:
        """How many tasks run."""
        return self.slots.size - self.slots.free

    @property
    def in_line(self) -> int:
        """Tasks that wait here for the limits of their tools."""
        return 0 if self._lines is None else len(self._lines)

    @property
    def silence(self) -> float | None:
        """Seconds since the queue answered it; None: it never did."""
        if self._source is None:
            return None
        return max(0.0, self._core.clock.monotonic() - self._source.last_poll)


def manned(queues: Sequence[str], concurrency: int) -> list[tuple[tuple[str, ...], int]]:
    """Queues that share ``concurrency`` slots, in order, then those with slots of their own (``mail:2``), each alone.

    Raises:
        PolicyError: a queue cannot be called so, or a number of slots is none.
    """
    shared: list[str] = []
    own: list[tuple[tuple[str, ...], int]] = []
    for given in queues:
        name, colon, slots = given.partition(":")
        try:
            checked_name("queue", name)
        except ValueError as error:
            raise PolicyError(str(error)) from None
        if not colon:
            shared.append(name)
        elif slots.isascii() and slots.isdigit() and int(slots) > 0:
            own.append(((name,), int(slots)))
        else:
            raise PolicyError(
                f"queue={given!r}: behind the colon stands how many slots it has of its own, like mail:2"
            )
    named = [*shared, *(names[0] for names, _ in own)]
    if twice := [name for name in dict.fromkeys(named) if named.count(name) > 1]:
        raise PolicyError(f"queues={','.join(queues)!r} names {', '.join(twice)} twice")
    if concurrency < 1:
        raise PolicyError(f"concurrency={concurrency} must be at least 1")
    if not named:
        raise PolicyError("a worker serves at least one queue")
    return [(tuple(shared), concurrency), *own] if shared else own
