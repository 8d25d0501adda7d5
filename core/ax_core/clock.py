"""Time, ids and randomness: they enter the core through these parameters only."""

from __future__ import annotations

import os
import random
import struct
import threading
import time
from typing import Protocol

Micros = int
"""Microseconds since the Unix epoch: the only unit of time inside the core and the store."""

SECOND: Micros = 1_000_000


def micros(seconds: float) -> Micros:
    """A duration in seconds as microseconds."""
    return int(seconds * SECOND)


class Clock(Protocol):
    """What the core asks of time, identity and chance."""

    def now(self) -> Micros:
        """Wall time in microseconds."""

    def monotonic(self) -> float:
        """Seconds that never go backwards, for local waits."""

    def new_id(self) -> str:
        """A fresh 36-character id that sorts by time of creation."""

    def random(self) -> float:
        """A number in [0, 1)."""

    def skip(self, seconds: float) -> bool:
        """Let this much time pass at once, if this clock can (only a test's can); whether it did."""


class SystemClock:
    """The machine's clock; ids are UUIDs of version 7 (RFC 9562) with a counter that keeps one process in order."""

    def __init__(self) -> None:
        # By process: in a forked child the parent's may be held by a thread that does not exist there.
        self._locks: dict[int, threading.Lock] = {}
        self._last = 0
        self._noise: list[int] = []
        self._noise_of = 0

    def now(self) -> Micros:
        return time.time_ns() // 1000

    def monotonic(self) -> float:
        return time.monotonic()

    def random(self) -> float:
        return random.random()

    def skip(self, seconds: float) -> bool:
        return False

    def new_id(self) -> str:
        pid = os.getpid()
        with self._locks.get(pid) or self._locks.setdefault(pid, threading.Lock()):
            # 60 bits: milliseconds, then 12 bits that count up within one.
            stamp = (time.time_ns() // 1_000_000) << 12
            self._last = stamp = stamp if stamp > self._last else self._last + 1
            # Drawn in bulk, and never shared with a forked child.
            if not self._noise or self._noise_of != pid:
                self._noise, self._noise_of = list(_WORDS.unpack(os.urandom(_WORDS.size))), pid
            noise = self._noise.pop()
        return uuid7(stamp >> 12, stamp & 0xFFF, noise)


def uuid7(millis: int, counter: int, noise: int) -> str:
    """The text of a version 7 UUID from its three parts (48 bits, 12 bits, 62 bits)."""
    low = noise & 0x3FFF_FFFF_FFFF_FFFF | 0x8000_0000_0000_0000
    text = (millis << 80 | (0x7000 | counter) << 64 | low).to_bytes(16, "big").hex()
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


_WORDS = struct.Struct("128Q")
