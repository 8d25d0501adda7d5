"""A child process: started here, asked to stop here, and killed by its own pid only."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import TracebackType
from typing import Self

GRACE = 5.0


class Process:
    """A Python module in a process of its own; leaving the block stops it: TERM, wait, KILL."""

    def __init__(self, module: str, arguments: list[str], log: Path) -> None:
        self._log = log
        with log.open("ab") as errors:
            self._child = subprocess.Popen(
                [sys.executable, "-m", module, *arguments],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                env=_surroundings(),
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    @property
    def pid(self) -> int:
        """The process id."""
        return self._child.pid

    def row(self) -> str:
        """The next row the process writes; empty once it is gone."""
        assert self._child.stdout is not None
        return self._child.stdout.readline()

    def answer(self, word: str) -> None:
        """Let a process that waits go on."""
        assert self._child.stdin is not None
        self._child.stdin.write(word + "\n")
        self._child.stdin.flush()

    def kill(self) -> None:
        """kill -9, and wait until it is really gone."""
        self._child.kill()
        self._child.wait()

    def stop(self) -> int:
        """TERM, wait, KILL; the exit code."""
        if self._child.poll() is None:
            self._child.terminate()
            try:
                self._child.wait(GRACE)
            except subprocess.TimeoutExpired:
                self._child.kill()
        code = self._child.wait()
        for pipe in (self._child.stdin, self._child.stdout):
            if pipe is not None:
                pipe.close()
        return code

    def end(self) -> int:
        """Wait until it ends by itself; the exit code."""
        return self._child.wait()

    def complaint(self) -> str:
        """The end of what it wrote to stderr."""
        return self._log.read_text(errors="replace")[-2000:]


def _surroundings() -> dict[str, str]:
    """This process's environment, with the same modules importable and no tracing sent anywhere."""
    here = os.pathsep.join(each for each in sys.path if each)
    return {**os.environ, "PYTHONPATH": here, "LANGSMITH_TRACING": "false", "PYTHONUNBUFFERED": "1"}
