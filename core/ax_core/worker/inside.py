"""The process of an isolated tool, from the inside: imports the program once, then runs one body after the other."""

from __future__ import annotations

import itertools
import json
import logging
import os
import signal
import socket
import sys
import threading
from collections.abc import Mapping
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any

from ..decide import Raised
from ..dispatch import bound
from ..dispatch.body import Body
from ..errors import AXError, UnknownTool
from ..model import TaskRow
from .inner import InnerContext
from .lifespan import living
from .outcomes import as_message, refused
from .running import Running
from .target import Program, found, load_target
from .wire import Message, Wire

if TYPE_CHECKING:
    from ..app.core import Core


def main(fd: int, *program: Any) -> None:
    """What a :class:`.cell.Cell` starts."""
    home = socket.socket(fileno=fd)
    home.set_inheritable(False)
    wire = Wire(home)
    signal.signal(signal.SIGTERM, _leave)
    logging.basicConfig(stream=sys.stderr, format="%(asctime)s %(levelname)s %(message)s")
    target, factory, lifespan = Program(*program)
    try:
        ax = load_target(target, factory=factory)
        core = ax._core
        core.serving = True  # what a tool calls from in here runs in here: it is recorded as another worker's
        core.load()
        made = None if lifespan is None else found(lifespan)
    except AXError as error:
        wire.send("failed", why=str(error))
        sys.exit(2)
    running = Running(core)
    with living(made, ax, running.loop.run) as resources:
        Inside(core, wire, resources).serve()
    ax.close(drain=0.0)


class Inside:
    """Runs what the worker sends, on the main thread, until it says that this is the end."""

    def __init__(self, core: Core, wire: Wire, resources: Mapping[str, Any]) -> None:
        self._core, self._wire, self._resources = core, wire, resources
        self._jobs: SimpleQueue[Message | None] = SimpleQueue()
        self._asked: dict[int, SimpleQueue[Message]] = {}
        self._numbers = itertools.count(1)
        self._context: InnerContext | None = None

    def serve(self) -> None:
        """One body after the other."""
        threading.Thread(target=self._listen, name="ax-wire", daemon=True).start()
        self._wire.send("ready")
        while (job := self._jobs.get()) is not None:
            self._run(TaskRow(*job["row"]), job["remaining"])

    def _run(self, row: TaskRow, remaining: float | None) -> None:
        core = self._core
        tool = core.registry.find(row.tool)
        if tool is None:  # it is registered in the worker, so this is not the same program any more
            unknown = UnknownTool(f"tool {row.tool!r} is not known in a process of its own", task_id=row.id)
            self._wire.send("over", **as_message(Raised(unknown, not_applied=True), core.codec))
            return
        context = InnerContext(row, remaining, self, core.clock, core.codec, self._resources)
        self._context = context
        body = Body(tool.apart or bound(tool), json.loads(row.payload), tool.policy, context, is_async=False)
        self._wire.send("begun")
        outcome, leaving = body()
        self._context = None
        if leaving is not None:  # told to end, or the tool ends its process: the worker sees it go
            raise leaving
        self._wire.send("over", **as_message(outcome, core.codec))

    def ask(self, what: str, **more: Any) -> Any:
        """Ask the worker; raises what it was refused with."""
        number, answers = next(self._numbers), SimpleQueue[Message]()
        self._asked[number] = answers
        self._wire.send("ask", id=number, what=what, **more)
        said = answers.get()
        if "error" in said:
            raise refused(said)
        return said["value"]

    def tell(self, kind: str, **more: Any) -> bool:
        """Tell the worker."""
        return self._wire.send(kind, **more)

    def _listen(self) -> None:
        for said in self._wire:
            match said["kind"]:
                case "job":
                    self._jobs.put(said)
                case "stop" if self._context is not None:
                    self._context.ask_to_stop()
                case "answer" if (asked := self._asked.pop(said["to"], None)) is not None:
                    asked.put(said)
                case "end":
                    self._jobs.put(None)
                    return
        # The worker is gone, and nobody may act for it any more: neither this process nor what it has started.
        os.killpg(os.getpgrp(), signal.SIGKILL)


def _leave(number: int, frame: object) -> None:
    raise SystemExit(128 + number)
