"""Trails: what an adapter notes of one place, in order, when several processes may note there at once."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING

from ..frozen import frozen
from ..model import RequestRow
from ..store import Op, Tx, bindings

if TYPE_CHECKING:
    from .core import Core


@frozen()
class Mark:
    """One note on a trail: a task, and what is said of it."""

    task_id: str
    what: str


class Trails:
    """Notes beside the tasks, which only grow: each has the next number, and who is second to it reads again."""

    _core: Core
    _ns: str

    def trail(self, name: str) -> tuple[Mark, ...]:
        """Every note of a place, oldest first."""
        return self._core.wiring(self._ns).db.read(self._trail(name))

    async def atrail(self, name: str) -> tuple[Mark, ...]:
        """:meth:`trail` on an event loop."""
        return await (await self._core.awiring(self._ns)).db.aread(self._trail(name))

    def mark(self, name: str, number: int, task_id: str, what: str) -> bool:
        """Append a note as the ``number``-th (from zero); False: somebody else's has that number."""
        return self._core.wiring(self._ns).db.write(self._mark(name, number, task_id, what), "trail")

    async def amark(self, name: str, number: int, task_id: str, what: str) -> bool:
        """:meth:`mark` on an event loop."""
        op = self._mark(name, number, task_id, what)
        return await (await self._core.awiring(self._ns)).db.awrite(op, "trail")

    def _trail(self, name: str) -> Op[tuple[Mark, ...]]:
        def op(tx: Tx) -> tuple[Mark, ...]:
            found: list[Mark] = []
            for number in count():
                row = bindings.request(tx, self._ns, f"{name}#{number}")
                if row is None:
                    return tuple(found)
                found.append(Mark(row.task_id, row.kind))
            raise AssertionError

        return op

    def _mark(self, name: str, number: int, task_id: str, what: str) -> Op[bool]:
        row = RequestRow(self._ns, f"{name}#{number}", task_id, "", what, self._core.clock.now())
        return lambda tx: bindings.point(tx, row)
