"""Deadlines that pass when the test says so: however slow the machine, the body is inside by then, and no longer."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from unittest import mock

from ax_core.dispatch.hands import Slot
from support.probe import Held

LIMIT = 25.0
"""A timeout that never passes by itself in a test."""


@contextmanager
def expiring(held: Held) -> Iterator[None]:
    """In this block, the next sync body with a deadline runs out of time as soon as ``held`` is inside."""
    real, fired = Slot.wait, []

    def wait(slot: Slot, seconds: float | None) -> bool:
        if seconds is None or fired:
            return real(slot, seconds)
        fired.append(True)
        held.wait_entered()
        return False

    with mock.patch.object(Slot, "wait", wait):
        yield
