"""A shop: a database, a queue, an outside world, a client in this process and workers in processes of their own."""

from __future__ import annotations

import threading
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from ax_core import AX
from support import record
from support.agent_tools import BUSINESS
from support.children import Nursery
from support.outside import World
from support.workers import WorkerProcess
from support.workshop import shop


class Shop:
    """What the parties share, and how to start more of them; ``nursery``: what workers are forked from, if anything."""

    def __init__(
        self,
        folder: Path,
        url: str,
        queue: str,
        world: World,
        ending: ExitStack,
        nursery: Nursery | None = None,
    ) -> None:
        self.folder, self.url, self.queue, self.world, self._ending = folder, url, queue, world, ending
        self.nursery = nursery
        if url.startswith("sqlite:"):
            record.prepare(Path(url.removeprefix("sqlite:///")))
        self.ax = self.client()
        self.ax.tasks()  # from here on the tables are there
        record.run(url, BUSINESS)

    def client(self) -> AX:
        """Another program that calls the tools."""
        ax = shop(self.url, self.queue, self.world.port)
        self._ending.callback(ax.close, drain=0)
        return ax

    def worker(self, *options: str, **given: Any) -> WorkerProcess:
        """One more worker, ready."""
        return self._ending.enter_context(self._hired(*options, **given))

    def doomed(self, fault: str) -> WorkerProcess:
        """A worker that dies at a fault point, perhaps before it could say that it is ready."""
        made = self._hired(AX_FAULT=f"{fault}=kill")
        self._ending.callback(made.__exit__)
        return made

    def _hired(self, *options: str, **given: Any) -> WorkerProcess:
        given.setdefault("nursery", self.nursery)
        return WorkerProcess(self.folder, self.url, self.queue, self.world.port, *options, **given)

    def effects(self, subject: str) -> list[dict[str, Any]]:
        """What the world saw of a subject."""
        kinds = ("unsafe", "keyed", "idempotent")
        return [e for e in self.world.seen() if e.get("subject") == subject and e["kind"] in kinds]


def calling(shop: Any, name: str, **arguments: Any) -> tuple[threading.Thread, list[Any]]:
    """A call on a thread of its own, and where its answer comes."""
    said: list[Any] = []

    def call() -> None:
        try:
            said.append(shop.ax.call(name, {"subject": "a", **arguments}))
        except Exception as error:
            said.append(error)

    thread = threading.Thread(target=call)
    thread.start()
    return thread, said
