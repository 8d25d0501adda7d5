"""The worker's side: one consumer in the group of every stream it serves."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

from ... import faults
from ...errors import TransportError
from ...names import checked_name
from ...ports import PRIORITIES, Delivery
from ..outage import Pause
from . import scripts
from .entries import Garbage, job, shortened
from .intake import Intake
from .keys import DEAD_KEPT, GROUP, REPLIES_KEPT, REPLIES_MS
from .link import BLOCK, Link

FORGOTTEN_MS = 3_600_000
PRUNE_SECONDS = 60.0


class RedisSource:
    """A :class:`~ax_core.ports.Source`; a receipt is (stream, entry id)."""

    def __init__(self, link: Link, consumer: str, queues: Sequence[str]) -> None:
        if not queues:
            raise ValueError("a source needs a queue")
        self._link, self._consumer = link, checked_name("source", consumer)
        named = list(dict.fromkeys(queues))
        self._streams = {link.keys.queue(q, p): (q, p) for p in PRIORITIES for q in named}
        self._intake, self._pause = Intake(link, consumer, named), Pause(link.clock)
        self._closed = threading.Event()
        self._fetching = threading.Lock()
        self._pruned = self.last_poll = link.clock.monotonic()

    # -- fetching ----------------------------------------------------------------------------------------------------

    def fetch(self, limit: int, wait: float) -> list[Delivery]:
        """At most ``limit`` jobs, the urgent first, as soon as there is one; none after ``wait`` seconds."""
        clock = self._link.clock
        until = clock.monotonic() + wait
        while limit > 0 and not self._closed.is_set():
            left = max(0.0, until - clock.monotonic())
            try:
                with self._fetching:
                    found = self._fetch(limit, min(left, BLOCK))
            except TransportError:
                self._pause.failed()
                self._closed.wait(min(left, self._pause.left))
                found = []
            if found:
                faults.point("fetch.after")
            if found or left <= 0:
                return found
        return []

    def _fetch(self, limit: int, wait: float) -> list[Delivery]:
        taken = self._intake.next(limit, wait)
        self.last_poll = self._link.clock.monotonic()
        self._pause.over()
        found = self._read([(*entry, 1) for entry in taken])
        # Closed meanwhile, or two streams got something at the moment we began to block: more than was asked for.
        surplus = found[0 if self._closed.is_set() else limit :]
        if surplus:
            self.give_back(surplus)
        return found[: len(found) - len(surplus)]

    def _read(self, taken: Sequence[tuple[Any, ...]]) -> list[Delivery]:
        """The jobs of entries (stream, id, fields, times); garbage goes aside."""
        found: list[Delivery] = []
        for stream, entry_id, raw, times in taken:
            receipt = (stream.decode(), entry_id.decode())
            try:
                found.append(Delivery(job(raw, *self._streams[receipt[0]]), times, receipt))
            except Garbage as why:
                self._set_aside(receipt, raw, why)
        return found

    def _set_aside(self, receipt: tuple[str, str], raw: list[bytes], why: Garbage) -> None:
        stream, entry_id = receipt
        told = ("ax_from", stream, "ax_id", entry_id, "ax_why", str(why), *shortened(raw))
        self._link.complain(f"entry {entry_id} of {stream} is no job; it was set aside", why)
        self._link.hint(
            "set garbage aside",
            ("XADD", self._link.keys.dead, "MAXLEN", "~", DEAD_KEPT, "*", *told),
            ("XACK", stream, GROUP, entry_id),
            ("XDEL", stream, entry_id),
        )

    # -- what was fetched ----------------------------------------------------------------------------------------------

    def done(self, deliveries: Sequence[Delivery]) -> bool:
        """Take jobs off the queue and wake their clients, in one round trip; after the outcome is committed."""
        told: dict[str, list[str]] = {}
        for delivery in deliveries:
            if delivery.job.reply_to is not None:
                told.setdefault(self._link.keys.reply(delivery.job.reply_to), []).append(delivery.job.task_id)
        streams, ids = self._receipts(deliveries)
        bounds = (len(ids), REPLIES_KEPT, REPLIES_MS)
        texts = [" ".join(task_ids) for task_ids in told.values()]
        keys = [*streams, *told]
        asked = (scripts.DONE, len(keys), *keys, GROUP, self._consumer, *bounds, *ids, *texts)
        faults.point("done.before")
        said = not deliveries or self._link.hint("take jobs off", asked)
        faults.point("done.after")
        return said

    def give_back(self, deliveries: Sequence[Delivery]) -> bool:
        """Let others have jobs that were not begun, at once."""
        return self._tell("give jobs back", scripts.GIVE_BACK, deliveries)

    def keep(self, deliveries: Sequence[Delivery]) -> bool:
        """Say that these are still being worked on, so that nobody reclaims them."""
        return self._tell("keep jobs", scripts.KEEP, deliveries)

    def reclaim(self, idle: float, limit: int) -> list[Delivery]:
        """At most ``limit`` jobs whose workers said nothing for ``idle`` seconds."""
        self._prune_sometimes()
        streams = list(self._streams)
        own = (GROUP, self._consumer, int(idle * 1000), limit)
        try:
            taken = self._link.ask((scripts.RECLAIM, len(streams), *streams, *own))[0]
        except TransportError:
            return []
        return self._read(taken)

    def close(self) -> None:
        """Fetch no more, and leave no trace of this consumer."""
        if self._closed.is_set():
            return
        self._closed.set()
        # A fetch that blocks ends within a second; what it brings it gives back.
        if self._fetching.acquire(timeout=BLOCK + 1.0):
            self._intake.wire.drop()
            self._fetching.release()
        self._prune(0, self._consumer)

    # -- how it is done ------------------------------------------------------------------------------------------------

    def _tell(self, what: str, script: scripts.Script, deliveries: Sequence[Delivery]) -> bool:
        streams, ids = self._receipts(deliveries)
        asked = (script, len(streams), *streams, GROUP, self._consumer, *ids)
        return not deliveries or self._link.hint(what, asked)

    def _receipts(self, deliveries: Sequence[Delivery]) -> tuple[list[str], list[str]]:
        return [d.receipt[0] for d in deliveries], [d.receipt[1] for d in deliveries]

    def _prune_sometimes(self) -> None:
        """Consumers of processes that are long gone."""
        now = self._link.clock.monotonic()
        if now - self._pruned >= PRUNE_SECONDS:
            self._pruned = now
            self._prune(FORGOTTEN_MS, "")

    def _prune(self, idle_ms: int, consumer: str) -> None:
        streams = list(self._streams)
        self._link.hint("forget consumers", (scripts.PRUNE, len(streams), *streams, GROUP, idle_ms, consumer))
