"""Looking up what an operator knows only roughly: ids by a part of them, tools by what was published of them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from .. import view
from ..errors import UnknownTask
from ..store import Tx, lookup, tools

if TYPE_CHECKING:
    from .core import Core

SHORTEST = 6
"""Characters that a part of an id must have at least."""
LOOKED_AT = 20_000
"""The newest tasks of a namespace, over which the times of its tools are taken."""


@dataclass(frozen=True, slots=True)
class SeenTool:
    """A tool as it was last registered somewhere.

    Attributes:
        seconds: the 50th, 95th and 99th percentile of its newest successes; empty where there are none.
    """

    name: str
    version: str
    schema: Any
    policy: dict[str, Any]
    paused: bool
    paused_by: str | None
    seen_at: datetime
    seconds: dict[str, float]


class Found(str):
    """The id of a task or a run; ``kind`` says of which."""

    __slots__ = ("kind",)

    kind: str

    def __new__(cls, id: str, kind: str) -> Found:
        made = super().__new__(cls, id)
        made.kind = kind
        return made


class Lookup:
    """What people and programs look up before they ask."""

    _core: Core
    _ns: str

    def find(self, part: str, *, of: str = "task") -> Found:
        """The one id of a task (or a ``"run"``, or ``"any"``: a task, else a run) that starts or ends with ``part``.

        Raises:
            UnknownTask: there is none, or more than one; the message names them.
        """
        kinds = ("task", "run") if of == "any" else (of,)
        what = " or ".join(kinds)
        part = part.strip().removeprefix("…").removesuffix("…")
        if len(part) < SHORTEST:
            raise UnknownTask(
                f"{part!r} is too short for the id of a {what}: give at least {SHORTEST} characters"
            )

        def op(tx: Tx) -> list[Found]:
            for kind in kinds:
                if ids := lookup.ids(tx, self._ns, part, runs=kind == "run"):
                    return [Found(id, kind) for id in ids]
            return []

        found = self._core.wiring(self._ns).db.read(op)
        if not found:
            raise UnknownTask(f"no {what} {part} in namespace {self._ns!r}")
        if len(found) > 1:
            some = ", ".join(found[:5]) + (", …" if len(found) > 5 else "")
            raise UnknownTask(f"{part} fits more than one {what} ({some}): give more of it")
        return found[0]

    def seen_tools(self) -> list[SeenTool]:
        """Every tool that was ever registered on this store, by name, with how long it takes."""

        def op(tx: Tx) -> list[SeenTool]:
            times = lookup.durations(tx, self._ns, LOOKED_AT)
            return [
                SeenTool(
                    name=row.name,
                    version=row.version,
                    schema=view.as_json(row.schema),
                    policy=view.as_json(row.policy, {}),
                    paused=bool(row.paused),
                    paused_by=row.paused_by,
                    seen_at=view.certain(row.seen_at),
                    seconds=percentiles(times.get(row.name, [])),
                )
                for row in tools.every(tx, self._ns)
            ]

        return self._core.wiring(self._ns).db.read(op)


def percentiles(taken: list[int]) -> dict[str, float]:
    """The 50th, 95th and 99th percentile of microseconds, in seconds (nearest rank)."""
    if not taken:
        return {}
    ordered = sorted(taken)
    return {f"p{p}": ordered[-(-p * len(ordered) // 100) - 1] / 1e6 for p in (50, 95, 99)}
