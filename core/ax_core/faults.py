"""Named fault points: places where a test may kill, stop or break the process.

A point is a no-op unless a test armed it, with :func:`arm` in this process or, for a child process, with
``AX_FAULT="name[:nth]=action"`` in its environment (actions: ``kill`` is SIGKILL, ``stop`` is SIGSTOP). One
stands before and after each commit and each word to a queue, and around each entry into a tool. The commit of a
TRANSACTIONAL body is named ``effect``; ``effect.before`` and ``effect.after`` are for tools of tests, around what
they do to the world.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable

POINTS = (
    "admit.before_commit",
    "admit.after_commit",
    "claim.before_commit",
    "claim.after_commit",
    "body.before",
    "body.after",
    "effect.before",
    "effect.after",
    "mark.before_commit",
    "mark.after_commit",
    "record.before_commit",
    "record.after_commit",
    "effect.before_commit",
    "effect.after_commit",
    "lease.before_commit",
    "lease.after_commit",
    "control.before_commit",
    "control.after_commit",
    "recover.before_commit",
    "recover.after_commit",
    "publish.before",
    "publish.after",
    "fetch.after",
    "done.before",
    "done.after",
    "trail.before_commit",
    "trail.after_commit",
)

_armed: dict[str, Callable[[], None]] = {}
_listening: list[Callable[[str], None]] = []


class Crash(BaseException):
    """The process is taken to have died at this point: nothing that still runs may record anything."""


def point(name: str) -> None:
    """Reach the fault point ``name``."""
    if _armed and (action := _armed.get(name)):
        action()
    for hears in _listening:
        hears(name)


def arm(name: str, action: Callable[[], None], nth: int = 1) -> None:
    """Run ``action`` the ``nth`` time that ``name`` is reached.

    Raises:
        ValueError: no such point.
    """
    if name not in POINTS:
        raise ValueError(f"no fault point named {name!r}; there are: {', '.join(POINTS)}")
    left = nth

    def count() -> None:
        nonlocal left
        left -= 1
        if left == 0:
            action()

    _armed[name] = count


def disarm() -> None:
    """Forget every armed point."""
    _armed.clear()


def listen(hears: Callable[[str], None]) -> Callable[[], None]:
    """Call ``hears`` with the name of every point that is reached; returns what ends that."""
    _listening.append(hears)
    return lambda: _listening.remove(hears)


def _signal(which: int) -> Callable[[], None]:
    return lambda: os.kill(os.getpid(), which)


def arm_from(spec: str) -> None:
    """Arm from ``"name[:nth]=kill|stop"``."""
    target, _, action = spec.partition("=")
    name, _, nth = target.partition(":")
    which = {"kill": signal.SIGKILL, "stop": signal.SIGSTOP}[action]
    arm(name, _signal(which), int(nth or 1))


if _spec := os.environ.get("AX_FAULT"):
    arm_from(_spec)
