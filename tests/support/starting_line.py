"""Processes that start at the same moment: a fixture for tests of races."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ax_core import AX
from support import racing
from support.children import Child, Nursery
from support.outside import Row


class Start:
    """A record, a file of effects, and processes that race for them."""

    def __init__(self, folder: Path, nursery: Nursery, url: str) -> None:
        self.url = url
        self.db, self.effects, self._log = folder / "ax.db", folder / "effects", folder / "log"
        self._nursery = nursery
        self.children: list[Child] = []

    def line_up(self, *specs: Row) -> None:
        """One process per spec, each ready to start."""
        common = {"url": self.url, "effects": str(self.effects)}
        self.children = [
            self._nursery.start("support.racing", {**common, **spec}, self._log) for spec in specs
        ]
        self.await_ready()

    def await_ready(self) -> None:
        """Wait until each has said that it is ready."""
        for child in self.children:
            assert child.hear() == {"ready": True}, child.complaint()

    def go(self) -> None:
        """All at once, the next part."""
        for child in self.children:
            child.say(go=True)

    def told(self) -> list[Row]:
        """What all their calls came to."""
        rows: list[Row] = []
        for child in self.children:
            while (row := child.hear()) is not None and "told" not in row:
                rows.append(row)
            assert row is not None, child.complaint()
        return rows

    def over(self) -> None:
        """Each comes to its own end, and logged no complaint."""
        for child in self.children:
            heard = child.wait()
            assert child.ended, child.complaint()
            assert heard[-2] == {"complaints": []}

    def happened(self) -> list[int]:
        """The effects that the outside saw."""
        return sorted(racing.numbers(str(self.effects)))

    def ax(self, **settings: Any) -> AX:
        """An AX of this process on the same record, with the same tools."""
        ax = AX(self.url, **settings)
        racing.register(ax, str(self.effects))
        return ax


@pytest.fixture
def start(tmp_path: Path, nursery: Nursery, url: str) -> Iterator[Start]:
    yield Start(tmp_path, nursery, url)
    nursery.clear()
