"""One connection: many commands in one round trip, replies as they come, made anew when it was lost."""

from __future__ import annotations

from typing import Any

from ...clock import Clock
from ..outage import Outage, Pause
from .address import LOST, SILENT, Address, Refused
from .scripts import Script

pack: Any = None
try:  # redis-py looks at every word first, which costs four times as much as the packing
    import hiredis

    pack = hiredis.pack_command
except (ImportError, AttributeError):  # it is an extra of redis-py's, and packs since version 2.2
    pass
Command = tuple[Any, ...]
"""The words of one command; the first may be a :class:`Script`, followed by the number of its keys."""


class Wire:
    """For one thread at a time. Everything AX asks may be asked twice, so a lost connection is not always told.

    Args:
        patience: seconds to wait for a reply; more than any of the commands blocks.
    """

    def __init__(self, address: Address, outage: Outage, clock: Clock, patience: float) -> None:
        self._address, self._outage, self._patience = address, outage, patience
        self._connection: Any = None
        self.pause = Pause(clock)

    def ask(self, *commands: Command) -> list[Any]:
        """The replies in order; one that is an error stands in its place as a :class:`Refused`.

        Raises:
            TransportError: the server is away, or was a moment ago.
        """
        if self.pause.left > 0 and self._outage.error is not None:
            raise self._outage.error
        used = self._connection is not None
        try:
            try:
                replies = self._exchange(commands)
            except LOST as error:
                # The server may have been restarted since it was last asked: that is no outage, silence is one.
                if not used or isinstance(error, SILENT):
                    raise
                self.drop()
                replies = self._exchange(commands)
        except LOST as error:
            self.drop()
            self.pause.failed()
            raise self._outage.begun(error) from error
        except BaseException:  # a reply that was not read would be taken for that to the next question
            self.drop()
            raise
        self.pause.over()
        self._outage.over()
        return replies

    def drop(self) -> None:
        """Close the connection; the next question makes another."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.disconnect()

    def _exchange(self, commands: tuple[Command, ...]) -> list[Any]:
        replies = self._once([_by_name(c) for c in commands])
        for i, reply in enumerate(replies):
            if isinstance(reply, Refused):
                replies[i] = self._again(commands[i], reply)
        return replies

    def _again(self, command: Command, refused: Refused) -> Any:
        """What a refusal that says more about the server than about the command leads to."""
        why = str(refused)
        if isinstance(command[0], Script) and "NOSCRIPT" in f"{type(refused).__name__} {why}".upper():
            return self._once([("EVAL", *command)])[0]
        if type(refused).__name__ in ("ReadOnlyError", "MasterDownError"):
            # It was demoted, and its name may lead elsewhere by now.
            raise ConnectionError(f"it does not take writes: {why}")
        return refused

    def _once(self, commands: list[Command]) -> list[Any]:
        connection = self._connection
        if connection is None:
            connection = self._address.connection(self._patience)
            connection.connect()
            self._connection = connection
        packed = (
            [pack(words) for words in commands] if pack is not None else connection.pack_commands(commands)
        )
        connection.send_packed_command(packed, check_health=False)
        return [_reply(connection) for _ in commands]


def _by_name(command: Command) -> Command:
    first = command[0]
    return ("EVALSHA", first.sha, *command[1:]) if isinstance(first, Script) else command


def _reply(connection: Any) -> Any:
    try:
        return connection.read_response()
    except Refused as error:
        return error
