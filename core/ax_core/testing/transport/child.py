"""Another process with a transport of its own: does what its parent says, one JSON line each way."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Sequence
from typing import Any

from ...ports import Delivery, Job, Source, Transport
from .peer import opened


class Child:
    """One client or worker; each method answers one question."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self._source: Source | None = None
        self._held: list[Delivery] = []
        self._woken: list[str] = []
        self._moved = threading.Condition()

    def publish(self, jobs: list[list[Any]]) -> bool:
        """Jobs as lists of their fields."""
        return self._transport.publish([Job(*job) for job in jobs])

    def listen(self, client: str) -> None:
        """From now on."""
        self._transport.listen(client, self._hear)

    def heard(self, count: int, seconds: float) -> list[str]:
        """What was heard, once it is so much or the time is over."""
        with self._moved:
            self._moved.wait_for(lambda: len(self._woken) >= count, seconds)
            return list(self._woken)

    def source(self, name: str, queues: list[str]) -> None:
        """Be a worker."""
        self._source = self._transport.source(name, queues)

    def fetch(self, limit: int, wait: float) -> list[str]:
        """Ids of what was fetched now."""
        assert self._source is not None
        found = self._source.fetch(limit, wait)
        self._held += found
        return [delivery.job.task_id for delivery in found]

    def done(self) -> bool:
        """With everything."""
        assert self._source is not None
        held, self._held = self._held, []
        return self._source.done(held)

    def work(self, count: int, seconds: float) -> list[str]:
        """Fetch one, be done with it, until there were so many or none comes for so long."""
        seen: list[str] = []
        while len(seen) < count and (found := self.fetch(1, seconds)):
            seen += found
            self.done()
        return seen

    def _hear(self, task_ids: Sequence[str]) -> None:
        with self._moved:
            self._woken += task_ids
            self._moved.notify_all()


def main(opener: str, where: str) -> None:
    """Answer until the input ends."""
    transport = opened(opener, where)
    child = Child(transport)
    for line in sys.stdin:
        asked = json.loads(line)
        answer = getattr(child, asked.pop("do"))(**asked)
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()
    transport.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
