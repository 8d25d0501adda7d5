"""The warden: a process that outlives its worker for a moment, to kill what the worker's isolated tools leave behind.

A worker that is killed cannot end its children. A child that hangs in C cannot notice that its worker is gone, and what
the child has started would not be reached by a signal to the child alone. So this one waits for the worker's end, which
closes a pipe, and then kills each process group it was told of. It imports nothing but the standard library.
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import threading

LOOK_SECONDS = 1.0


class Warden:
    """The worker's side; its process starts with the first group to watch."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._watched: set[int] = set()
        self._telling = threading.Lock()

    def watch(self, group: int) -> None:
        """Kill this process group once the worker is gone."""
        with self._telling:
            self._watched.add(group)
            if not self._tell(f"+{group}\n"):
                self._start()  # it was never there, or somebody has killed it
                self._tell("".join(f"+{each}\n" for each in self._watched))

    def forget(self, group: int) -> None:
        """That group is over."""
        with self._telling:
            self._watched.discard(group)
            self._tell(f"-{group}\n")

    def close(self) -> None:
        """Let it go."""
        with self._telling:
            if self._process is not None and self._process.stdin is not None:
                self._process.stdin.close()
                self._process.wait()
                self._process = None

    def _start(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", __file__, str(os.getpid())],
            stdin=subprocess.PIPE,
            bufsize=0,
            start_new_session=True,
        )

    def _tell(self, what: str) -> bool:
        if self._process is None or self._process.stdin is None:
            return False
        try:
            self._process.stdin.write(what.encode())
        except OSError:
            return False
        return True


def main() -> None:
    """Watch until the worker, whose pid is the first argument, is gone."""
    for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(each, signal.SIG_IGN)
    groups: set[int] = set()
    worker, begun = int(sys.argv[1]), b""
    while os.getppid() == worker:
        # The pipe does not close where a tool of the worker has forked and its child lives on with the other end.
        if not select.select([0], [], [], LOOK_SECONDS)[0]:
            continue
        if not (got := os.read(0, 65_536)):
            break
        *lines, begun = (begun + got).split(b"\n")
        for line in lines:
            (groups.add if line[:1] == b"+" else groups.discard)(int(line[1:]))
    for group in groups:
        try:
            os.killpg(group, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            pass


if __name__ == "__main__":
    main()
