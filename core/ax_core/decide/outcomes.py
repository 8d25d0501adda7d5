"""How an attempt can end, and what ``reconcile`` may answer."""

from __future__ import annotations

from typing import Any

from ..frozen import frozen


@frozen()
class Returned:
    """The body came back with a value."""

    value: Any = None


@frozen()
class Raised:
    """The body raised. ``not_applied``: it said that nothing happened. ``text``: the error as it was encoded where it
    was raised, if that was in another process."""

    error: BaseException | None = None
    not_applied: bool = False
    retry_after: float | None = None
    text: str | None = None


@frozen()
class TimedOut:
    """The deadline passed. ``closed``: the body has ended, or was never entered."""

    closed: bool = False
    entered: bool = True


@frozen()
class Lost:
    """An interruption: its process is gone, its lease expired, or its host cancelled it."""

    entered: bool = True


@frozen()
class Paused:
    """The framework's own pause passed through the body."""


@frozen()
class Stopped:
    """The body obeyed a cancel. ``by_itself``: it looked and stopped, rather than being cut off."""

    by_itself: bool = True


Outcome = Returned | Raised | TimedOut | Lost | Paused | Stopped


@frozen()
class Happened:
    """``reconcile``: the effect is there; ``result`` is what the call would have returned."""

    result: Any = None


@frozen()
class DidNotHappen:
    """``reconcile``: the effect is certainly not there."""


@frozen()
class Unknown:
    """``reconcile``: it cannot tell."""
