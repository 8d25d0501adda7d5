"""Asking the tools of this process, by their ``reconcile``, about outcomes in doubt."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..clock import SECOND, Micros, micros
from ..control import reconciled
from ..decide import Happened, Unknown
from ..dispatch.context import Context
from ..dispatch.scope import current_task
from ..dispatch.wiring import Wiring
from ..model import TaskRow
from ..registry import Tool
from ..scheduler import to_reconcile
from ..store import Tx, tasks

if TYPE_CHECKING:
    from .core import Core

SOONEST: Micros = 5 * SECOND
LATEST: Micros = 3600 * SECOND
"""What cannot be told yet is asked again after as long as it has been open, within these limits."""


class Doubts:
    """The outcomes in doubt of one open store, as this process knows them."""

    def __init__(self, core: Core) -> None:
        self._core, self._db, self._clock, self._tell = core, core.db, core.clock, core.tell
        self._wirings = core._wirings
        self._not_before: dict[tuple[str, int], Micros] = {}

    def ask(self) -> None:
        """Ask about each that is due."""
        found = [(row, wiring) for wiring in list(self._wirings.values()) for row in self._open(wiring)]
        open_still = {(row.id, row.fence) for row, _ in found}
        self._not_before = {key: at for key, at in self._not_before.items() if key in open_still}
        for row, wiring in found:
            now = self._clock.now()
            if self._not_before.get((row.id, row.fence), now) <= now:
                self._ask(row, self._core.registry.get(row.tool), wiring)

    def _open(self, wiring: Wiring) -> list[TaskRow]:
        asking = [tool for tool in self._core.registry if tool.policy.reconcile is not None]
        settle = {tool.name: micros(tool.policy.settle) for tool in asking}
        return self._db.read(to_reconcile(wiring.ns, settle, self._clock.now())) if settle else []

    def _ask(self, row: TaskRow, tool: Tool[..., Any], wiring: Wiring) -> None:
        assert tool.policy.reconcile is not None
        said: Any = Unknown()
        token = current_task.set(Context(row, wiring))
        try:
            said = tool.policy.reconcile(current_task.get())
        except Exception as error:
            self._core.hooks.complain(f"reconcile of {tool.name} failed", error)
        finally:
            current_task.reset(token)
        if isinstance(said, Unknown):
            now = self._clock.now()
            open_for = now - (row.ended_at or now)
            self._not_before[row.id, row.fence] = now + min(max(open_for, SOONEST), LATEST)
            return
        text = self._core.codec.encode(said.result).text if isinstance(said, Happened) else None

        def op(tx: Tx) -> None:
            fresh = tasks.get(tx, row.id)
            if fresh is not None and fresh.reason == "outcome_unknown" and fresh.fence == row.fence:
                reconciled(tx, fresh, said, text, self._clock.now(), self._tell)

        self._db.write(op, "control")
