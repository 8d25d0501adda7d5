"""A client or worker in another process, as a test holds it: asked, stopped and killed by its own pid."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from importlib import import_module
from typing import Any, Self

from ...ports import Transport


def opened(opener: str, where: str) -> Transport:
    """The transport that ``"module:function"`` makes of ``where``."""
    module, _, function = opener.partition(":")
    made: Transport = getattr(import_module(module), function)(where)
    return made


class Peer:
    """One process; leaving the block ends it.

    Args:
        fault: where it dies by itself, as :mod:`ax_core.faults` reads it.
    """

    def __init__(self, opener: str, where: str, fault: str = "") -> None:
        path = os.pathsep.join(dict.fromkeys(each for each in sys.path if each))
        self._process = subprocess.Popen(
            [sys.executable, "-m", "ax_core.testing.transport.child", opener, where],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": path, "AX_FAULT": fault},
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._process.poll() is None:
            self.kill()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                try:
                    pipe.close()
                except BrokenPipeError:
                    pass

    def ask(self, do: str, **more: Any) -> Any:
        """What one method of :class:`~.child.Child` answers; blocks until then."""
        self.tell(do, **more)
        return self.hear()

    def tell(self, do: str, **more: Any) -> None:
        """The question alone."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"do": do, **more}) + "\n")
        self._process.stdin.flush()

    def hear(self) -> Any:
        """The answer alone."""
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line, "the other process is gone"
        return json.loads(line)

    def stop(self) -> None:
        """SIGSTOP."""
        self._process.send_signal(signal.SIGSTOP)

    def go_on(self) -> None:
        """SIGCONT."""
        self._process.send_signal(signal.SIGCONT)

    def died(self) -> bool:
        """Wait until it is gone by itself; whether it was killed."""
        return self._process.wait(30) == -signal.SIGKILL

    def kill(self) -> None:
        """kill -9, and wait until it is gone."""
        self._process.kill()
        self._process.wait()

    def end(self) -> None:
        """Let it come to its own end."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(30)
