"""What the parts of one transport share: the address, the names, the wire for questions, and who is complained to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...clock import Clock
from ...errors import TransportError
from ..outage import Complain, Outage
from .address import Address, Refused
from .keys import Keys
from .shared import SharedWire
from .wire import Command, Wire

PATIENCE = 2.0
"""Seconds a server may take to answer what blocks nothing."""

BLOCK = 1.0
"""Seconds a blocking read blocks at most, so that a close or a lost server is noticed."""


class Link:
    """One server, one deployment, one process."""

    def __init__(self, address: Address, clock: Clock, complain: Complain) -> None:
        self.address, self.clock, self.complain = address, clock, complain
        self.keys = Keys(address.prefix)
        self.outage = Outage(address.shown, clock, complain)
        self._refused: set[str] = set()
        self._shared = SharedWire(self.wire(0.0))

    def wire(self, blocks: float) -> Wire:
        """A wire for one thread, whose commands block up to so many seconds."""
        return Wire(self.address, self.outage, self.clock, PATIENCE + blocks)

    def ask(self, *commands: Command) -> list[Any]:
        """Replies that are no errors.

        Raises:
            TransportError: the server is away, or refuses.
        """
        replies = self.look(*commands)
        self.accepted(replies)
        return replies

    def look(self, *commands: Command) -> list[Any]:
        """Replies of which some may be errors.

        Raises:
            TransportError: the server is away.
        """
        return self._shared.ask(*commands)

    def accepted(self, replies: Sequence[Any]) -> None:
        """Look for a refusal.

        Raises:
            TransportError: there is one.
        """
        for reply in replies:
            if isinstance(reply, Refused):
                raise TransportError(f"the queue at {self.address.shown} refuses: {reply}") from reply

    def hint(self, what: str, *commands: Command) -> bool:
        """Ask where nothing depends on it: False if the server is away or refuses, and a complaint says so."""
        try:
            replies = self.look(*commands)
        except TransportError:  # an outage is complained about where it is noticed
            return False
        return self.took(what, replies)

    def took(self, what: str, replies: Sequence[Any]) -> bool:
        """Whether none of these is a refusal; else a complaint says so."""
        try:
            self.accepted(replies)
        except TransportError as error:
            self.refused(what, error)
            return False
        self.went(what)
        return True

    def refused(self, what: str, error: TransportError) -> None:
        """Complain that the server refuses something: once, until it goes again."""
        if what not in self._refused:
            self._refused.add(what)
            self.complain(f"the queue could not {what}", error)

    def went(self, what: str) -> None:
        """It goes, maybe again."""
        self._refused.discard(what)

    def close(self) -> None:
        """Close the wire for questions."""
        self._shared.close()
