"""What a transport has to keep: a queue of task ids that is a hint, never the truth.

Everything here may be lost, doubled, late or out of order at any time. A task that the queue lost is published again
from the database, and a task that it hands out twice is claimed once there. So no method says that something arrived.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from .rates import Rate

URGENT, NORMAL, BACKGROUND = PRIORITIES = (0, 1, 2)
"""Somebody waits for it now; nobody is in a hurry; when there is nothing else to do."""

Woken = Callable[[Sequence[str]], object]
"""Called with the ids of tasks that moved, on a thread of the transport's; quick, and never blocks."""


class Job(NamedTuple):
    """A task that is ready, as the queue carries it: ids only, nothing that could be executed.

    Attributes:
        reply_to: the client that is told when the task is done; None: nobody waits.
    """

    task_id: str
    ns: str
    queue: str = "default"
    priority: int = NORMAL
    reply_to: str | None = None


def checked_priority(given: int) -> int:
    """A priority that there is.

    Raises:
        ValueError: there is no such.
    """
    if given not in PRIORITIES:
        raise ValueError(f"priority={given!r} is none of {', '.join(map(str, PRIORITIES))}")
    return given


class Delivery(NamedTuple):
    """A job handed to one worker.

    Attributes:
        times: how often it was handed out, this time included; more than once means its worker was lost.
        receipt: the transport's own name for it.
    """

    job: Job
    times: int
    receipt: Any


class Health(NamedTuple):
    """How the queue stands.

    Attributes:
        ok: it answered just now.
        why: what is wrong, in one sentence.
        seconds: how long the answer took.
        waiting: jobs that nobody has fetched yet, by queue.
        fetched: jobs that a worker holds, by queue; a queue is missing where the transport cannot tell.
    """

    ok: bool
    why: str | None
    seconds: float
    waiting: Mapping[str, int]
    fetched: Mapping[str, int]


class News(NamedTuple):
    """Events in the order in which they were announced.

    Attributes:
        position: what to ask after next time.
        gap: events between the asked position and the first of these may be missing: read the database again.
    """

    events: Sequence[Mapping[str, Any]]
    position: str
    gap: bool


class Limiter(Protocol):
    """Limits that hold across workers, kept where the queue is; for any thread, one round trip or two."""

    def check(self) -> None:
        """At start, where a tool has a rate.

        Raises:
            TransportError: what keeps rates is not installed.
        """

    def count(self, name: str, rate: Rate) -> float:
        """Count one more under a name: 0, or, where it is over the rate, the seconds after which to ask again.

        Raises:
            TransportError: the queue is away, or refuses.
        """

    def take_place(self, name: str, most: int, holder: str, seconds: float) -> bool:
        """Take one of ``most`` places, for so many seconds or again; False: others have them all.

        Raises:
            TransportError: the queue is away, or refuses.
        """

    def keep_places(self, held: Sequence[tuple[str, str]], seconds: float) -> bool:
        """Hold on to places, given as (name, holder), for so long from now; also to those that were lost meanwhile."""

    def give_place(self, name: str, holder: str) -> bool:
        """Give a place back. False: the queue is away; it lapses by itself."""


class Source(Protocol):
    """The worker's side: one consumer, whose ``fetch`` is called by one thread at a time; the rest by any."""

    @property
    def last_poll(self) -> float:
        """Monotonic time at which the queue last answered a fetch: the measure of a worker's health."""

    def fetch(self, limit: int, wait: float) -> list[Delivery]:
        """At most ``limit`` jobs, the urgent first, as soon as there is one; none after ``wait`` seconds.

        Never raises because the queue is away or lost its memory: it says so once, tries again with growing pauses
        and returns nothing, a few seconds late where the queue is silent. What it cannot read is set aside for
        people, and never handed out.
        """

    def done(self, deliveries: Sequence[Delivery]) -> bool:
        """Take jobs off the queue and wake their clients, in one round trip; after the outcome is committed.

        One that was meanwhile given to another worker stays with that worker. False: the queue is away; nothing
        needs to be done, the jobs come back and are found to be over.
        """

    def give_back(self, deliveries: Sequence[Delivery]) -> bool:
        """Let others have jobs that were not begun, at once. False: the queue is away; they are reclaimed later."""

    def keep(self, deliveries: Sequence[Delivery]) -> bool:
        """Say that these are still being worked on, so that nobody reclaims them; more often than ``idle``."""

    def reclaim(self, idle: float, limit: int) -> list[Delivery]:
        """At most ``limit`` jobs whose workers fetched them and said nothing for ``idle`` seconds; never raises."""

    def close(self) -> None:
        """Fetch no more, and leave no trace of this consumer; what is neither done nor given back is reclaimed."""


class Transport(Protocol):
    """One queue server, as one process sees it; not to be used in a forked child, which opens its own.

    All methods are for any thread, and block for one round trip at most (an event loop calls them on a thread).
    Those that only hint return False when the queue is away, having complained once per outage.
    """

    def check(self) -> Sequence[str]:
        """At start: what an operator should be warned of.

        Raises:
            TransportError: this server cannot be used: away, too old, not allowed to, or of a kind that would
                lose the promises made here.
        """

    def publish(self, jobs: Iterable[Job], news: Sequence[Mapping[str, Any]] = ()) -> bool:
        """Put jobs on their queues, all in one round trip, shared with whoever publishes at the same moment.

        Call it after the tasks are committed. False: not all may have arrived; the database publishes them again.

        Args:
            news: events that are there before any of the jobs can be fetched, where the broker keeps events.

        Raises:
            ValueError: a queue or priority that there cannot be.
        """

    def wake(self, client_id: str, task_ids: Sequence[str]) -> bool:
        """Tell a client that these tasks moved; it may hear of them twice."""

    def listen(self, client_id: str, woken: Woken) -> None:
        """Call ``woken`` whenever this client is told something, from now on, and of what it was told just before.

        A transport that cannot push never calls it: who waits looks again within a second anyway.
        """

    def source(self, name: str, queues: Sequence[str]) -> Source:
        """The worker's side, for a consumer of this name, which is unique to one start of one process.

        Args:
            queues: where it fetches, the first named first; now and then from the other end, so that none starves.

        Raises:
            NoSource: the transport's own workers do the fetching.
        """

    def limiter(self) -> Limiter | None:
        """Limits across workers; None: it keeps none, and tools that have some are refused."""

    def announce(self, events: Sequence[Mapping[str, Any]]) -> bool:
        """Add events (JSON values) to a stream of bounded length that people and consoles follow."""

    def events(self, after: str | None, wait: float) -> News:
        """Events after a position (None: from now on; ``"0"``: all that are kept), at the latest in ``wait`` seconds.

        Raises:
            TransportError: the queue is away.
        """

    def hold(self, ns: str, session_id: str, token: str, seconds: float) -> str | None:
        """Hint that this token has the session, for so long or again: None, or the token that hinted so before.

        The lock of record is in the database: confirm a refusal there. None also where the queue is away.
        """

    def let_go(self, ns: str, session_id: str, token: str) -> bool:
        """Take that hint back, if it is still this token's."""

    def health(self, queues: Sequence[str] = ("default",)) -> Health:
        """Ask now; never raises."""

    def close(self) -> None:
        """Stop listening and close every connection; twice does no harm."""
