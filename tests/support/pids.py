"""Whether a process is still there, as anybody on this host can see. A pid alone says nothing: it is used again."""

from __future__ import annotations

import os
import subprocess
from typing import NamedTuple


class Life(NamedTuple):
    """One process, told apart from a later one of the same pid by the time of its start."""

    pid: int
    born: str

    @property
    def status(self) -> str | None:
        """Its state letter; None: it does not exist any more, or is only waiting to be reaped."""
        letter, born = _look(self.pid)
        return letter if letter not in ("Z", "X", "") and born == self.born else None


def life(pid: int) -> Life:
    """The process that has this pid now."""
    return Life(pid, _look(pid)[1])


def _look(pid: int) -> tuple[str, str]:
    """(state letter, time of start); empty texts where there is none."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as f:
            fields = f.read().rpartition(b")")[2].split()
    except OSError:
        return _look_elsewhere(pid)
    return fields[0].decode(), fields[19].decode()


def _look_elsewhere(pid: int) -> tuple[str, str]:
    if os.path.isdir("/proc/self"):
        return "", ""
    shown = subprocess.run(
        ["ps", "-o", "stat=,lstart=", "-p", str(pid)], capture_output=True, text=True, check=False
    )
    letters, _, born = shown.stdout.strip().partition(" ")
    return letters[:1], born.strip()
