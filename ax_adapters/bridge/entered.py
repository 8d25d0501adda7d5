"""Which tools' bodies run here: a class's own methods may come back through those that AX put before them."""

from __future__ import annotations

from contextvars import ContextVar, Token
from typing import Any

_inside: ContextVar[tuple[int, ...]] = ContextVar("ax_entered", default=())


class Entered:
    """A block in which the body of a tool runs: a call of its own methods there is no new call of the tool."""

    __slots__ = ("_token", "_tool")

    def __init__(self, tool: Any) -> None:
        self._tool = tool
        self._token: Token[tuple[int, ...]] | None = None

    def __enter__(self) -> None:
        self._token = _inside.set((*_inside.get(), id(self._tool)))

    def __exit__(self, *_: object) -> None:
        if self._token is not None:
            _inside.reset(self._token)


def is_entered(tool: Any) -> bool:
    """Whether the body of this very tool runs here."""
    return id(tool) in _inside.get()
