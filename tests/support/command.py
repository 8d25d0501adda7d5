"""The ``axd`` command in a process of its own: started anew, or forked from a nursery, where it is there at once."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Any, Protocol

from support.children import Nursery
from support.pids import life

COMMAND = "import sys; from ax_core.cli import main; sys.exit(main())"


class Process(Protocol):
    """What a test does with a process; a :class:`subprocess.Popen` is one."""

    pid: int

    def poll(self) -> int | None:
        """Its exit code, once it is over."""

    def wait(self, timeout: float | None = None) -> int:
        """Its exit code; raises ``subprocess.TimeoutExpired``."""

    def send_signal(self, number: int, /) -> None:
        """Nothing where it is over."""

    def terminate(self) -> None:
        """SIGTERM."""

    def kill(self) -> None:
        """SIGKILL."""


def start(
    words: list[str],
    *,
    env: dict[str, str],
    cwd: Path | None = None,
    out: IO[bytes],
    err: IO[bytes],
    nursery: Nursery | None,
) -> Process:
    """``axd`` with these words and exactly this environment; without a nursery as a person starts it."""
    if nursery is None:
        typed = [sys.executable, "-c", COMMAND, *words]
        return subprocess.Popen(typed, stdin=subprocess.DEVNULL, stdout=out, stderr=err, env=env, cwd=cwd)
    spec = {"words": words, "env": env, "cwd": str(cwd or Path.cwd())}
    with ExitStack() as ours, open(os.devnull, "rb") as nothing:
        ear, mouth = os.pipe()
        ours.callback(os.close, mouth)
        pid = nursery.fork("support.command", spec, nothing.fileno(), out.fileno(), err.fileno(), mouth)
    return Forked(pid, ear)


class Forked:
    """A child of a nursery, which tells its exit code once it is over."""

    def __init__(self, pid: int, ear: int) -> None:
        self.pid, self._life = pid, life(pid)
        self._ear = os.fdopen(ear, "rb", buffering=0)
        self._code: int | None = None

    def poll(self) -> int | None:
        """Its exit code, once it is over."""
        try:
            return self.wait(0.0)
        except subprocess.TimeoutExpired:
            return None

    def wait(self, timeout: float | None = None) -> int:
        """Its exit code; raises ``subprocess.TimeoutExpired``."""
        if self._code is None:
            if not select.select([self._ear], [], [], timeout)[0]:
                raise subprocess.TimeoutExpired(f"process {self.pid}", timeout or 0.0)
            # Nothing: the nursery has gone, and has killed it.
            self._code = int(os.read(self._ear.fileno(), 100) or -signal.SIGKILL)
            self._ear.close()
        return self._code

    def send_signal(self, number: int) -> None:
        """Nothing where it is over."""
        if self.poll() is None and self._life.status is not None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        """SIGTERM."""
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """SIGKILL."""
        self.send_signal(signal.SIGKILL)


def main(spec: dict[str, Any]) -> int:
    """What the forked process does: from here on it is as if it had been started by the words."""
    from ax_core import faults
    from ax_core.cli import main as axd

    os.chdir(spec["cwd"])
    os.environ.clear()
    os.environ.update(spec["env"])
    if fault := os.environ.get("AX_FAULT"):  # looked at when its module is imported, which was long ago
        faults.arm_from(fault)
    sys.argv = ["-c", *spec["words"]]
    return axd()
