"""What the tests of the contract stand on."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

import pytest

from ...errors import NoSource
from ...ports import Delivery, Job, Source, Transport
from .peer import Peer, opened

T = TypeVar("T")
PATIENCE = 20.0


class Bench:
    """Opens transports and processes on one server, and closes them after the test."""

    def __init__(self, opener: str, where: str) -> None:
        self._opener, self._where = opener, where
        self._open: list[Transport] = []
        self._peers: list[Peer] = []
        self._number = itertools.count(1)

    def transport(self) -> Transport:
        """One more process's view, in this process."""
        self._open.append(opened(self._opener, self._where))
        return self._open[-1]

    def source(self, *queues: str) -> Source:
        """A worker in this process."""
        try:
            return self.transport().source(f"worker-{next(self._number)}", queues or ("default",))
        except NoSource as why:
            pytest.skip(str(why))

    def peer(self) -> Peer:
        """Another process."""
        self._peers.append(Peer(self._opener, self._where))
        return self._peers[-1]

    def worker(self, *queues: str) -> Peer:
        """A worker in another process."""
        self.source().close()  # skips the test where there are none
        peer = self.peer()
        peer.ask("source", name=f"worker-{next(self._number)}", queues=queues or ("default",))
        return peer

    def close(self) -> None:
        """Everything."""
        for peer in self._peers:
            peer.__exit__()
        for transport in self._open:
            transport.close()


class Ear:
    """What a client was told."""

    def __init__(self) -> None:
        self.heard: list[str] = []
        self._moved = threading.Condition()

    def __call__(self, task_ids: Sequence[str]) -> None:
        with self._moved:
            self.heard += task_ids
            self._moved.notify_all()

    def wait(self, *task_ids: str, seconds: float = PATIENCE) -> None:
        """Until all of these were told."""
        with self._moved:
            assert self._moved.wait_for(lambda: set(task_ids) <= set(self.heard), seconds), self.heard


def jobs(*task_ids: str, **more: Any) -> list[Job]:
    """Jobs of one tenant."""
    return [Job(task_id, "tenant", **more) for task_id in task_ids]


def ids(deliveries: Sequence[Delivery]) -> list[str]:
    """Their tasks."""
    return [delivery.job.task_id for delivery in deliveries]


def take(source: Source, count: int, seconds: float = PATIENCE) -> list[Delivery]:
    """Exactly so many, in as many fetches as it takes."""
    found: list[Delivery] = []
    until = time.monotonic() + seconds
    while len(found) < count and time.monotonic() < until:
        found += source.fetch(count - len(found), 0.5)
    assert len(found) == count, ids(found)
    return found


def eventually(look: Callable[[], T], seconds: float = PATIENCE) -> T:
    """The first answer that is something; for what tells nobody when it happens."""
    until = time.monotonic() + seconds
    while not (found := look()):
        assert time.monotonic() < until, f"still {found!r} after {seconds:g} s"
        time.sleep(0.02)
    return found


class Fixtures:
    """What a test class supplies, and what it gets."""

    opener = "ax_core.transport:open_transport"

    @pytest.fixture
    def where(self) -> str:
        """Where a queue is that holds nothing; the argument of the opener."""
        raise NotImplementedError("a contract needs a `where` fixture")

    @pytest.fixture
    def forgets(self) -> Callable[[], None]:
        """Lets the server forget everything at once, while it runs."""
        pytest.skip("this server does not forget")

    @pytest.fixture
    def restarts(self) -> Callable[[bool], None]:
        """Restarts the server, with its data (True) or without."""
        pytest.skip("this server cannot be restarted")

    @pytest.fixture
    def stands_still(self) -> Callable[[bool], None]:
        """Lets the server stand still with its connections open (True), and go on."""
        pytest.skip("this server cannot be stopped")

    @pytest.fixture
    def garbage(self) -> Callable[[], int]:
        """Puts entries on the default queue that are no jobs; how many."""
        pytest.skip("nobody can put garbage there")

    @pytest.fixture
    def bench(self, where: str) -> Iterator[Bench]:
        """Transports and processes."""
        bench = Bench(self.opener, where)
        yield bench
        bench.close()
