"""Whether a process is there, as anybody on this host can see."""

from __future__ import annotations

import os
import subprocess


def status(pid: int) -> str | None:
    """The state letter of a process; None: it does not exist, or is only waiting to be reaped."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as f:
            letter = f.read().rpartition(b")")[2].split()[0].decode()
    except OSError:
        return _elsewhere(pid)
    return None if letter in "ZX" else letter


def _elsewhere(pid: int) -> str | None:
    if os.path.isdir("/proc/self"):
        return None
    shown = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False)
    return shown.stdout.strip()[:1] or None
