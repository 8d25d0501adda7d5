"""Who runs an attempt: one process start, named so that others on the same host can see whether it still lives."""

from __future__ import annotations

import itertools
import os
import socket
from collections.abc import Callable
from functools import cache

_starts = itertools.count(1)
_buried: set[str] = set()


def owner_id(nonce: str) -> str:
    """An owner of attempts made by this process: host, pid, the process's start time, ``nonce`` and a counter."""
    return f"{_host()}:{os.getpid()}:{_started(os.getpid()) or '?'}:{nonce}.{next(_starts)}"


def bury(owner: str) -> Callable[[], None]:
    """For tests: count this owner as gone, though its process lives; returns what ends that."""
    _buried.add(owner)
    return lambda: _buried.discard(owner)


def certainly_gone(owner: str) -> bool:
    """Whether that process no longer exists. Only a process of this host can be known to be gone."""
    if owner in _buried:
        return True
    try:
        host, pid, started, _ = owner.split(":", 3)
        number = int(pid)
    except ValueError:
        return False
    if host != _host():
        return False
    if started == "?":
        return not _exists(number)
    # A pid may be used again; with its start time it is unique.
    return _started(number) != started


@cache
def _host() -> str:
    # The boot id tells apart hosts (and containers) that share a name.
    boot = ""
    try:
        with open("/proc/sys/kernel/random/boot_id") as f:
            boot = f.read(8)
    except OSError:
        pass
    return f"{socket.gethostname()}~{boot}".replace(":", "_")


def _exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _started(pid: int) -> str | None:
    """When a process started, in the kernel's ticks; None: it does not exist, is a zombie, or cannot be told."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as f:
            fields = f.read().rpartition(b")")[2].split()
    except OSError:
        return _started_elsewhere(pid)
    return None if fields[0] == b"Z" else fields[19].decode()


def _started_elsewhere(pid: int) -> str | None:
    if os.path.isdir("/proc/self"):
        return None
    import subprocess

    shown = subprocess.run(
        ["ps", "-o", "lstart=", "-p", str(pid)], capture_output=True, text=True, check=False
    )
    return shown.stdout.strip().replace(":", ".").replace(" ", "_") or None
