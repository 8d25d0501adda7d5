"""The two kinds of child in the demo: the order service, and an agent."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode
from urllib.request import Request, urlopen

from ax_adapters.demo.process import Process

Row = dict[str, Any]


class Service(Process):
    """The order service, ready once it has told its port and answered a query."""

    def __init__(self, folder: Path) -> None:
        super().__init__(
            "ax_adapters.demo.service", ["--db", str(folder / "service.db"), "--tied"], folder / "service.log"
        )
        port = self.row().strip()
        if not port:
            raise RuntimeError(f"the order service did not start:\n{self.complaint()}")
        self.url = f"http://127.0.0.1:{port}"
        self.effects()

    def effects(self, **query: Any) -> Row:
        """The outside world's view."""
        return self._ask(f"/effects?{urlencode(query)}")

    def arm(self, trouble: Row) -> None:
        """Turn the fault knob."""
        self._ask("/faults", dict(trouble))

    def release(self) -> None:
        """Let delayed replies go."""
        self._ask("/faults/release", {})

    def _ask(self, path: str, body: Row | None = None) -> Row:
        data = None if body is None else json.dumps(body).encode()
        with urlopen(Request(self.url + path, data), timeout=60) as answer:
            found: Row = json.load(answer)
            return found


class Agent(Process):
    """An agent process: its rows are events."""

    def __init__(self, arguments: list[str], log: Path) -> None:
        super().__init__("ax_adapters.demo.agent", arguments, log)

    def events(self) -> Iterator[Row]:
        """What it reports, until it ends or is killed."""
        while row := self.row():
            yield json.loads(row)
