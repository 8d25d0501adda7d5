"""Reading the record: each question a store operation, offered sync and async."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, TypeVar

from .. import view
from ..errors import UnknownTask
from ..model import AuditEntry, Page, Run, Task, TaskRow, Tree
from ..states import State
from ..store import Op, Tx, approvals, attempts, audit, bindings, queries, runs, tasks, tools
from .lookup import Lookup
from .paging import states_of

if TYPE_CHECKING:
    from .core import Core

T = TypeVar("T")


class Records(Lookup):
    """What people and programs ask of the record."""

    _core: Core
    _ns: str

    def get(self, task_id: str) -> Task:
        """A task with its attempts and its approval.

        Raises:
            UnknownTask: there is none of that id.
        """
        return self._core.wiring(self._ns).db.read(self._get(task_id))

    async def aget(self, task_id: str) -> Task:
        """:meth:`get` on an event loop."""
        return await (await self._core.awiring(self._ns)).db.aread(self._get(task_id))

    def find_request(self, request_id: str) -> Task | None:
        """The task that answers a request, or None where the request is not known."""
        return self._core.wiring(self._ns).db.read(self._find_request(request_id))

    async def afind_request(self, request_id: str) -> Task | None:
        """:meth:`find_request` on an event loop."""
        return await (await self._core.awiring(self._ns)).db.aread(self._find_request(request_id))

    def tree(self, run_id: str) -> Tree:
        """A run with every task and sub-run under it.

        Raises:
            UnknownTask: there is none of that id.
        """
        return self._core.wiring(self._ns).db.read(self._tree(run_id))

    async def atree(self, run_id: str) -> Tree:
        """:meth:`tree` on an event loop."""
        return await (await self._core.awiring(self._ns)).db.aread(self._tree(run_id))

    def tasks(
        self,
        *,
        state: State | str | Sequence[State | str] | None = None,
        reason: str | None = None,
        session: str | None = None,
        tool: str | None = None,
        since: datetime | None = None,
        limit: int = 50,
        after: str | None = None,
    ) -> Page:
        """A page of tasks, newest first; ``after`` is the cursor of the page before.

        Raises:
            ValueError: no such state, or a limit that is not 1 to 1000.
        """
        return self._core.wiring(self._ns).db.read(
            self._page(state, reason, session, tool, since, limit, after)
        )

    async def atasks(
        self,
        *,
        state: State | str | Sequence[State | str] | None = None,
        reason: str | None = None,
        session: str | None = None,
        tool: str | None = None,
        since: datetime | None = None,
        limit: int = 50,
        after: str | None = None,
    ) -> Page:
        """:meth:`tasks` on an event loop."""
        op = self._page(state, reason, session, tool, since, limit, after)
        return await (await self._core.awiring(self._ns)).db.aread(op)

    def audit(self, task_id: str) -> list[AuditEntry]:
        """A task's audit trail, oldest first.

        Raises:
            UnknownTask: there is none of that id.
        """
        return self._core.wiring(self._ns).db.read(self._audit(task_id))

    def verify(self, task_id: str) -> int | None:
        """The number of the first audit entry that does not fit its chain; None: the trail is whole."""

        def op(tx: Tx) -> int | None:
            return audit.broken_at(audit.of_task(tx, task_id), self._row(tx, task_id).audit_head)

        return self._core.wiring(self._ns).db.read(op)

    def inbox(self, limit: int = 50) -> list[Task]:
        """What waits for a person: unknown effects first, then approvals, then other quarantine and dead letters."""

        def op(tx: Tx) -> list[Task]:
            unknown = queries.newest(
                tx, self._ns, states=("QUARANTINE",), reason="outcome_unknown", limit=limit
            )
            found = {row.id: row for row in [*unknown, *queries.doubtful(tx, self._ns, limit)]}
            for state, reason in (
                ("CONFIRMING", None),
                ("QUARANTINE", "policy_changed"),
                ("DEAD", None),
                ("QUARANTINE", "invalid_args"),
            ):
                for row in queries.newest(tx, self._ns, states=(state,), reason=reason, limit=limit):
                    found.setdefault(row.id, row)
            return [self._shown(tx, row) for row in list(found.values())[:limit]]

        return self._core.wiring(self._ns).db.read(op)

    def _row(self, tx: Tx, task_id: str) -> TaskRow:
        row = tasks.get(tx, task_id)
        if row is None or row.ns != self._ns:
            raise UnknownTask(f"no task {task_id}", task_id=task_id)
        return row

    def _get(self, task_id: str) -> Op[Task]:
        return lambda tx: self._shown(tx, self._row(tx, task_id))

    def _find_request(self, request_id: str) -> Op[Task | None]:
        def op(tx: Tx) -> Task | None:
            row = tasks.by_request(tx, self._ns, request_id)
            if row is None and (pointed := bindings.request(tx, self._ns, request_id)) is not None:
                row = tasks.get(tx, pointed.task_id)
            return None if row is None else self._shown(tx, row)

        return op

    def _shown(self, tx: Tx, row: TaskRow) -> Task:
        return view.task(
            row,
            self._core.codec,
            redact=self._redact(tx, row.tool),
            attempts=attempts.of_task(tx, row.id),
            asked=approvals.latest(tx, row.id)
            if row.approved or row.state in ("CONFIRMING", "CANCELLED")
            else None,
        )

    def _redact(self, tx: Tx, name: str) -> tuple[str, ...]:
        tool = self._core.registry.find(name)
        if tool is not None:
            return tool.policy.redact
        known = tools.get(tx, self._ns, name)
        names = view.as_mapping(known.policy).get("redact") if known else None
        return tuple(map(str, names)) if isinstance(names, list) else ()

    def _tree(self, run_id: str) -> Op[Tree]:
        def op(tx: Tx) -> Tree:
            row = runs.get(tx, run_id)
            rows = queries.of_run(tx, run_id)
            if (row is None and not rows) or (row.ns if row is not None else rows[0].ns) != self._ns:
                raise UnknownTask(f"no run {run_id}", task_id=run_id)
            run: Run = view.run(row) if row is not None else view.implicit_run(run_id, rows)
            shown = tuple(view.task(r, self._core.codec, redact=self._redact(tx, r.tool)) for r in rows)
            return Tree(run, shown, tuple(self._tree(child.id)(tx) for child in runs.children(tx, run_id)))

        return op

    def _page(
        self,
        state: State | str | Sequence[State | str] | None,
        reason: str | None,
        session: str | None,
        tool: str | None,
        since: datetime | None,
        limit: int,
        after: str | None,
    ) -> Op[Page]:
        states = states_of(State, state, limit)
        moment = None if since is None else int(since.timestamp() * 1e6)

        def op(tx: Tx) -> Page:
            rows = queries.newest(
                tx,
                self._ns,
                states=states,
                reason=reason,
                session=session,
                tool=tool,
                since=moment,
                before=after,
                limit=limit,
            )
            shown = tuple(view.task(row, self._core.codec, redact=self._redact(tx, row.tool)) for row in rows)
            return Page(shown, rows[-1].id if len(rows) == limit else None)

        return op

    def _audit(self, task_id: str) -> Op[list[AuditEntry]]:
        def op(tx: Tx) -> list[AuditEntry]:
            self._row(tx, task_id)
            return [view.audit_entry(row) for row in audit.of_task(tx, task_id)]

        return op
