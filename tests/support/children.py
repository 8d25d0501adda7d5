"""Child processes from a nursery: asked over stdin, heard line by line, killed and stopped by their own pid only."""

from __future__ import annotations

import json
import os
import selectors
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Self

from support.pids import life
from support.surroundings import SURROUNDINGS

Row = dict[str, Any]
PATIENCE = 60.0


class Child:
    """One forked process; it tells JSON lines, the last of them ``{"ended": true}`` if it was not cut off."""

    def __init__(self, pid: int, ears: int, mouth: int, log: Path) -> None:
        self.pid, self.log, self._life = pid, log, life(pid)
        self._ears, self._mouth = os.fdopen(ears, "rb", buffering=0), mouth
        self._rest = b""
        self.heard: list[Row] = []
        self.over = False

    @property
    def ended(self) -> bool:
        """Whether it came to its own end."""
        return bool(self.heard) and self.heard[-1].get("ended") is True

    def hear(self, seconds: float = PATIENCE) -> Row | None:
        """The next thing it says; None: it is gone.

        Raises:
            AssertionError: it is silent for ``seconds``.
        """
        give_up = time.monotonic() + seconds
        while b"\n" not in self._rest and not self.over:
            with selectors.DefaultSelector() as look:
                look.register(self._ears, selectors.EVENT_READ)
                ready = look.select(max(0.0, give_up - time.monotonic()))
            assert ready, f"process {self.pid} said nothing for {seconds:g} s\n{self.complaint()}"
            read = os.read(self._ears.fileno(), 1 << 16)
            self.over = not read
            self._rest += read
        line, _, self._rest = self._rest.partition(b"\n")
        if not line:
            return None
        self.heard.append(json.loads(line))
        return self.heard[-1]

    def wait(self, seconds: float = PATIENCE) -> list[Row]:
        """Everything it says until it is gone; then really gone."""
        while self.hear(seconds) is not None:
            pass
        self._gone()
        return self.heard

    def say(self, **more: Any) -> None:
        """Tell it something."""
        os.write(self._mouth, json.dumps(more).encode() + b"\n")

    def stop(self) -> None:
        """SIGSTOP, and wait until it stands.

        Raises:
            ProcessLookupError: it is gone.
        """
        self._send(signal.SIGSTOP)
        self.stands()

    def stands(self) -> None:
        """Wait until it is stopped, by whomever."""
        _until(lambda: self._life.status in ("T", None), "stand still")

    def go_on(self) -> None:
        """SIGCONT."""
        self._send(signal.SIGCONT)

    def kill(self) -> None:
        """kill -9, and wait until it is gone; what it said before is kept."""
        try:
            self._send(signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.wait()

    def alive(self) -> bool:
        """Whether it still exists."""
        return self._life.status is not None

    def complaint(self) -> str:
        """The end of what it wrote to its error stream."""
        return self.log.read_text(errors="replace")[-4000:] if self.log.exists() else ""

    def forget(self) -> None:
        """Close the lines to it."""
        self._ears.close()
        os.close(self._mouth)

    def _send(self, number: signal.Signals) -> None:
        if not self.alive():
            raise ProcessLookupError(f"process {self.pid} is gone")
        os.kill(self.pid, number)

    def _gone(self) -> None:
        _until(lambda: not self.alive(), "be gone")


class Nursery:
    """The forking process as tests hold it; ``remembers``: its children know the gates of the workshop's tools."""

    def __init__(self, *, remembers: bool = False) -> None:
        ours, theirs = socket.socketpair()
        self._home = ours
        self._children: list[Child] = []
        with theirs:
            self._process = subprocess.Popen(
                [
                    sys.executable,
                    "-m",
                    "support.nursery",
                    str(theirs.fileno()),
                    "remembers" if remembers else "",
                ],
                pass_fds=[theirs.fileno()],
                env={**os.environ, **SURROUNDINGS},
            )
        assert ours.recv(100) == b"ready\n"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.clear()
        self._home.close()
        self._process.wait(10)

    def start(self, module: str, spec: Any, log: Path) -> Child:
        """A child that runs ``main(spec)`` of a module that the nursery has imported."""
        their_ears, mouth = os.pipe()
        ears, their_mouth = os.pipe()
        complains = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        pid = self.fork(module, spec, their_ears, their_mouth, complains)
        for file in (their_ears, their_mouth, complains):
            os.close(file)
        child = Child(pid, ears, mouth, log)
        self._children.append(child)
        return child

    def fork(self, module: str, spec: Any, *files: int) -> int:
        """The pid of a child; its standard input, output and error, and perhaps who is told its exit code."""
        asked = json.dumps({"module": module, "spec": spec}).encode()
        assert len(asked) < 1 << 16
        socket.send_fds(self._home, [asked], files)
        return int(self._home.recv(100))

    def clear(self) -> None:
        """Kill what is left of the children."""
        for child in self._children:
            if child.alive():
                child.kill()
            child.forget()
        self._children.clear()


def _until(true: Any, what: str, seconds: float = PATIENCE) -> None:
    # The kernel tells nobody but the parent; so this is looked at, with a bound.
    give_up = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < give_up, f"a process did not {what} within {seconds:g} s"
        time.sleep(0.001)
