"""Which decision of a model a call is, as its framework tells it."""

from __future__ import annotations

from typing import Any

from ax_core.frozen import frozen

from .ordinals import ordinals


@frozen()
class Identity:
    """Who asks: all None where the framework gives nothing to hold on to.

    Attributes:
        address: where the framework can be woken, as plain data.
        seat: the execution of a step and the call in it, whose ``ordinal`` this is.
    """

    request_id: str | None = None
    run_id: str | None = None
    session: str | None = None
    address: dict[str, Any] | None = None
    seat: tuple[Any, tuple[str, ...]] | None = None
    ordinal: int = 0

    def delivered(self) -> None:
        """A success was handed over: the same call again, in this execution of the step, is a new decision."""
        if self.seat is not None:
            ordinals.advance(*self.seat, self.ordinal)

    def left(self) -> None:
        """The call ended, however."""
        if self.seat is not None:
            ordinals.leave(*self.seat, self.ordinal)
