"""Listing the runs that were opened on purpose."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from .. import view
from ..model import RunPage
from ..states import RunState
from ..store import Op, Tx, runs
from .paging import states_of

if TYPE_CHECKING:
    from .core import Core


class RunList:
    """What is open, what waits, and what became of the rest."""

    _core: Core
    _ns: str

    def runs(
        self,
        *,
        state: RunState | str | Sequence[RunState | str] | None = None,
        session: str | None = None,
        limit: int = 50,
        after: str | None = None,
    ) -> RunPage:
        """A page of runs, newest first, sub-runs too; ``after`` is the cursor of the page before.

        A run that nobody opened on purpose is found by its tasks: :meth:`tasks` lists them.

        Raises:
            ValueError: no such state, or a limit that is not 1 to 1000.
        """
        return self._core.wiring(self._ns).db.read(self._runs(state, session, limit, after))

    async def aruns(
        self,
        *,
        state: RunState | str | Sequence[RunState | str] | None = None,
        session: str | None = None,
        limit: int = 50,
        after: str | None = None,
    ) -> RunPage:
        """:meth:`runs` on an event loop."""
        wiring = await self._core.awiring(self._ns)
        return await wiring.db.aread(self._runs(state, session, limit, after))

    def _runs(
        self,
        state: RunState | str | Sequence[RunState | str] | None,
        session: str | None,
        limit: int,
        after: str | None,
    ) -> Op[RunPage]:
        states = states_of(RunState, state, limit)

        def op(tx: Tx) -> RunPage:
            rows = runs.newest(tx, self._ns, states=states, session=session, before=after, limit=limit)
            return RunPage(tuple(map(view.run, rows)), rows[-1].id if len(rows) == limit else None)

        return op
