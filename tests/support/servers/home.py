"""One database on a running server, as a test sees it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Home:
    """A fresh database on a running server.

    Attributes:
        server: what it runs on, with ``ask`` and ``cut``.
    """

    server: Any
    name: str
    url: str

    def ask(self, sql: str, *values: Any) -> list[Any]:
        """One statement by itself; its rows."""
        rows: list[Any] = self.server.ask(sql, self.name, *values)
        return rows

    def cut(self) -> int:
        """End every connection to it."""
        return int(self.server.cut(self.name))
