"""What the doctor finds around the record: the interpreter, the file, its disk."""

from __future__ import annotations

import os
import platform
import shutil
import sqlite3
import sys
from collections.abc import Iterator
from typing import NamedTuple

from .place import Place

OK, WARN, FAIL = "ok", "warn", "fail"
BIG_LOG = 256 * 1024 * 1024
LITTLE_ROOM = 200 * 1024 * 1024
REMOTE = frozenset({"nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "fuse.sshfs", "ceph", "glusterfs"})


class Check(NamedTuple):
    """One finding: ok, warn or fail, and what to do."""

    status: str
    name: str
    message: str
    advice: str = ""


def judged(sound: bool, name: str, message: str, advice: str, bad: str = WARN) -> Check:
    """A finding that is ok where ``sound``, else ``bad``, with the advice that goes with that."""
    return Check(OK, name, message) if sound else Check(bad, name, message, advice)


def surroundings() -> Iterator[Check]:
    """The interpreter and the SQLite it brings."""
    version = platform.python_version()
    yield judged(sys.version_info >= (3, 11), "python", version, "AX needs 3.11 or newer", FAIL)
    new = sqlite3.sqlite_version_info >= (3, 40)
    yield judged(
        new, "sqlite", sqlite3.sqlite_version, "AX is tested from 3.40 on: use a newer build of Python"
    )


def disk(place: Place) -> Iterator[Check]:
    """The file, its folder, its log and the room beside it."""
    folder, log = os.path.dirname(place.path) or ".", place.path + "-wal"
    yield Check(OK, "file", f"{place.path} ({place.source}), {_size(os.path.getsize(place.path))}")
    if not (os.access(place.path, os.W_OK) and os.access(folder, os.W_OK)):
        yield Check(
            WARN, "permission", "this user may not write it", "verbs need that, on the file and its folder"
        )
    if (kind := _filesystem(place.path)) in REMOTE:
        yield Check(
            FAIL, "disk", f"it is on {kind}", "SQLite's locks do not hold there: move it to a local disk"
        )
    size = os.path.getsize(log) if os.path.exists(log) else 0
    advice = (
        "something reads for very long, or a writer was stopped in the middle: restart the oldest process"
    )
    yield judged(size <= BIG_LOG, "write-ahead log", _size(size), advice)
    free = shutil.disk_usage(folder).free
    yield judged(
        free >= LITTLE_ROOM,
        "room",
        f"{_size(free)} free",
        "free some: what cannot be recorded is not run",
        FAIL,
    )


def _size(count: int) -> str:
    for size, unit in ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if count >= size:
            return f"{count / size:.1f} {unit}"
    return f"{count} bytes"


def _filesystem(path: str) -> str:
    """The kind of file system a file is on, where the kernel tells."""
    try:
        with open("/proc/mounts", encoding="utf-8", errors="replace") as mounts:
            points = [line.split()[1:3] for line in mounts]
    except OSError:
        return ""
    real = os.path.realpath(path)
    over = [(len(point), kind) for point, kind in points if real.startswith(point.rstrip("/") + "/")]
    return max(over, default=(0, ""))[1]
