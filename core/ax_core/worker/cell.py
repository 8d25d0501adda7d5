"""A cell: one process that isolated tools run in, one after the other, as the worker that holds it sees it."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from queue import Empty, SimpleQueue

from .target import Program
from .warden import Warden
from .wire import Message, Wire

START_SECONDS = 60.0
"""What a program may take to be imported."""
ENDED: Message = {"kind": "ended"}
# The same modules as here, wherever this program was started from.
_BEGIN = (
    "import sys, json; path, *given = json.loads(sys.argv[1]); sys.path[:] = path; "
    "from ax_core.worker.inside import main; main(*given)"
)


class CellFailed(Exception):
    """The process of a tool ended before a task was given to it."""


class Cell:
    """Started at once, in a session and process group of its own; its output is the worker's.

    Attributes:
        heard: what it says, and :data:`ENDED` once it is gone; what it is asked meanwhile may be put there too.
    """

    def __init__(self, program: Program, warden: Warden, spawn: Callable[[Callable[[], None]], None]) -> None:
        ours, theirs = socket.socketpair()
        with theirs:
            given = [sys.path, theirs.fileno(), *program]
            self.process = subprocess.Popen(
                [sys.executable, "-c", _BEGIN, json.dumps(given)],
                stdin=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
                start_new_session=True,
            )
        self._wire, self._warden = Wire(ours), warden
        self.heard: SimpleQueue[Message] = SimpleQueue()
        self._gone = threading.Event()
        # Before it is given anything: what it then starts is known to somebody who lives on.
        warden.watch(self.process.pid)
        spawn(self._listen)
        spawn(self._await_end)

    def wait_ready(self) -> None:
        """Return once it has imported the program.

        Raises:
            CellFailed: it could not; the message has its reason. It is ended then.
        """
        first = self.next(START_SECONDS) or {"kind": "slow", "why": f"not ready after {START_SECONDS:g} s"}
        if first["kind"] != "ready":
            self.end(0.0)
            raise CellFailed(first.get("why") or f"ended before it was ready: {self.said}")

    def send(self, kind: str, **more: object) -> bool:
        """Tell it something; False: it is gone."""
        return self._wire.send(kind, **more)

    def next(self, seconds: float | None) -> Message | None:
        """What is heard next; None: nothing in time."""
        try:
            return self.heard.get(timeout=None if seconds is None else max(0.0, seconds))
        except Empty:
            return None

    def end(self, grace: float) -> None:
        """TERM to it and all it has started, ``grace`` seconds for its own end, then KILL. It is over on return."""
        if grace > 0:
            self._signal(signal.SIGTERM)
            self._gone.wait(grace)
        # Also where it has ended by itself, for what it started; not reaped before, so the group is still its own.
        self._signal(signal.SIGKILL)
        self.process.wait()
        self._warden.forget(self.process.pid)
        self._wire.close()

    def dismiss(self, seconds: float) -> None:
        """Let an idle one close what it has open, and end."""
        self.send("end")
        self._gone.wait(seconds)
        self.end(0.0)

    @property
    def alive(self) -> bool:
        """Whether it has not ended."""
        return not self._gone.is_set()

    @property
    def said(self) -> str:
        """How it ended, for people."""
        code = self.process.poll()
        if code is None or code >= 0:
            return f"exit code {code}"
        try:
            return f"killed by {signal.Signals(-code).name}"
        except ValueError:
            return f"killed by signal {-code}"

    def _signal(self, number: int) -> None:
        if self.process.returncode is None:  # once it is reaped its number may be somebody else's
            try:
                os.killpg(self.process.pid, number)
            except (ProcessLookupError, PermissionError):  # macOS says so of a group of zombies
                pass

    def _listen(self) -> None:
        for message in self._wire:
            self.heard.put(message)
        # One that has only closed its end can say nothing more either.
        self._gone.wait(1.0)
        self.heard.put(ENDED)

    def _await_end(self) -> None:
        if hasattr(os, "waitid"):
            os.waitid(os.P_PID, self.process.pid, os.WEXITED | os.WNOWAIT)
        else:  # macOS before Python 3.13
            self.process.wait()
        self._gone.set()
        # What it started may still hold the other end, and would be listened to for ever.
        self._wire.read_no_more()
