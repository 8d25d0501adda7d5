"""The fault knob: what goes wrong on the way back, after the effect is committed."""

from __future__ import annotations

import threading
from dataclasses import dataclass


@dataclass
class Trouble:
    """For the next `times` requests to `path` about `subject`: drop the reply, or delay it."""

    path: str
    kind: str
    subject: str | None = None
    times: int = 1
    seconds: float = 30.0

    def __post_init__(self) -> None:
        if self.kind not in ("drop", "delay"):
            raise ValueError(f"unknown trouble {self.kind!r}: use 'drop' or 'delay'")


class Knob:
    """Holds the troubles that are armed and hands each out as often as it was asked for."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._armed: list[Trouble] = []
        self._released = threading.Event()

    def arm(self, trouble: Trouble) -> None:
        """Something will go wrong from now on."""
        with self._lock:
            self._armed.append(trouble)

    def take(self, path: str, subject: str) -> Trouble | None:
        """The trouble that befalls this request, if any."""
        with self._lock:
            for trouble in self._armed:
                if trouble.times > 0 and trouble.path == path and trouble.subject in (None, subject):
                    trouble.times -= 1
                    return trouble
        return None

    def hold(self, trouble: Trouble) -> None:
        """Keep a reply back for the time asked, or until everything is released."""
        self._released.wait(trouble.seconds)

    def release(self) -> None:
        """Let every delayed reply go."""
        self._released.set()
