"""The operator's verbs: each a store operation, offered sync and async."""

from __future__ import annotations

from typing import Any, TypeVar

from .. import control
from ..dispatch import acarry_out, carry_out
from ..model import Verdict
from ..store import Op, Tx, tasks
from .edited import edited
from .records import Records
from .rollback import rolling_back
from .serve import run_approved

T = TypeVar("T")


class Verbs(Records):
    """What people and programs decide about the record."""

    def confirm(self, task_id: str, by: str, payload: dict[str, Any] | None = None) -> Verdict:
        """Approve a task, with other arguments where ``payload`` gives them (they pass every gate again).

        Raises:
            UnknownTask, NotAllowed: it does not wait for that.
            InvalidArguments: the edited arguments do not fit.
        """
        verdict = self._verb(self._confirm(task_id, by, payload))
        if not verdict.done:
            return verdict
        wiring = self._core.wiring(self._ns)
        return run_approved(self._core, wiring, wiring.db.read(lambda tx: self._row(tx, task_id)), verdict)

    async def aconfirm(self, task_id: str, by: str, payload: dict[str, Any] | None = None) -> Verdict:
        """:meth:`confirm` on an event loop."""
        verdict = await self._averb(self._confirm(task_id, by, payload))
        if not verdict.done:
            return verdict
        wiring = await self._core.awiring(self._ns)
        return run_approved(
            self._core, wiring, await wiring.db.aread(lambda tx: self._row(tx, task_id)), verdict
        )

    def reject(self, task_id: str, by: str, reason: str | None = None) -> Verdict:
        """Say no; ``reason`` is what the model will read.

        Raises:
            UnknownTask, NotAllowed: it does not wait for that.
        """
        return self._verb(self._reject(task_id, by, reason))

    async def areject(self, task_id: str, by: str, reason: str | None = None) -> Verdict:
        """:meth:`reject` on an event loop."""
        return await self._averb(self._reject(task_id, by, reason))

    def cancel(self, id: str, by: str = "user") -> Verdict:
        """Cancel a task, or a run with everything under it; the verdict tells what that came to.

        Raises:
            UnknownTask: there is none of that id.
        """
        return self._told_to_stop(self._verb(self._cancel(id, by)))

    async def acancel(self, id: str, by: str = "user") -> Verdict:
        """:meth:`cancel` on an event loop."""
        return self._told_to_stop(await self._averb(self._cancel(id, by)))

    def requeue(self, task_id: str, by: str) -> Verdict:
        """Order another attempt of what ended badly, under the same key.

        Raises:
            UnknownTask, NotAllowed: its state does not permit that; the message says what does.
        """
        return self._verb(self._requeue(task_id, by))

    async def arequeue(self, task_id: str, by: str) -> Verdict:
        """:meth:`requeue` on an event loop."""
        return await self._averb(self._requeue(task_id, by))

    def resolve(
        self, task_id: str, *, happened: bool, by: str, result: Any = None, rerun: bool = False
    ) -> Verdict:
        """Say whether an effect in doubt happened; ``result`` is what the call would have returned.

        Raises:
            UnknownTask, NotAllowed: nothing about it is in doubt.
        """
        return self._verb(self._resolve(task_id, happened, by, result, rerun))

    async def aresolve(
        self, task_id: str, *, happened: bool, by: str, result: Any = None, rerun: bool = False
    ) -> Verdict:
        """:meth:`resolve` on an event loop."""
        return await self._averb(self._resolve(task_id, happened, by, result, rerun))

    def rollback(self, run_id: str, by: str) -> Verdict:
        """Undo what a run did, the last first, by each tool's ``compensate``; stops where the outcome is in doubt.

        Falsy while something keeps it from being complete; its message says what, and calling it again goes on.

        Raises:
            UnknownTask: there is no run of that id. NotAllowed: it has been rolled back.
        """
        wiring = self._core.wiring(self._ns)
        return carry_out(rolling_back(self._core, wiring, run_id, by), wiring)

    async def arollback(self, run_id: str, by: str) -> Verdict:
        """:meth:`rollback` on an event loop."""
        wiring = await self._core.awiring(self._ns)
        return await acarry_out(rolling_back(self._core, wiring, run_id, by), wiring)

    def extend(self, run_id: str, *, by: str, tasks: int = 0, seconds: float = 0.0) -> Verdict:
        """Give a run more tasks or seconds; one that ended by its budget goes on.

        Raises:
            UnknownTask: there is no such opened run.
        """
        return self._verb(self._extend(run_id, by, tasks, seconds))

    async def aextend(self, run_id: str, *, by: str, tasks: int = 0, seconds: float = 0.0) -> Verdict:
        """:meth:`extend` on an event loop."""
        return await self._averb(self._extend(run_id, by, tasks, seconds))

    def pause(self, tool_name: str, by: str) -> Verdict:
        """Let no attempt of a tool start; those that run go on."""
        return self._verb(lambda tx: control.pause_tool(tx, self._ns, tool_name, by))

    def resume(self, tool_name: str, by: str) -> Verdict:
        """Let a paused tool start again."""
        return self._verb(lambda tx: control.resume_tool(tx, self._ns, tool_name, by))

    def _verb(self, op: Op[T]) -> T:
        return self._core.wiring(self._ns).db.write(op, "control", durable=True)

    async def _averb(self, op: Op[T]) -> T:
        return await (await self._core.awiring(self._ns)).db.awrite(op, "control", durable=True)

    def _confirm(self, task_id: str, by: str, payload: dict[str, Any] | None) -> Op[Verdict]:
        core, ns, cap = self._core, self._ns, self._core.settings.payload_cap

        def op(tx: Tx) -> Verdict:
            edit = None if payload is None else lambda row: edited(tx, core.registry, row, payload, cap)
            return control.confirm(tx, ns, task_id, by, core.clock.now(), core.tell, edit)

        return op

    def _reject(self, task_id: str, by: str, reason: str | None) -> Op[Verdict]:
        return lambda tx: control.reject(
            tx, self._ns, task_id, by, self._core.clock.now(), self._core.tell, reason
        )

    def _cancel(self, id: str, by: str) -> Op[Verdict]:
        def op(tx: Tx) -> Verdict:
            now = self._core.clock.now()
            row = tasks.get(tx, id)
            if row is not None and row.ns == self._ns:
                return control.cancel(tx, self._ns, id, by, now, self._core.tell)
            return control.cancel_run(tx, self._ns, id, by, now, self._core.tell)

        return op

    def _requeue(self, task_id: str, by: str) -> Op[Verdict]:
        return lambda tx: control.requeue(tx, self._ns, task_id, by, self._core.clock.now(), self._core.tell)

    def _resolve(self, task_id: str, happened: bool, by: str, result: Any, rerun: bool) -> Op[Verdict]:
        text = self._core.codec.encode(result).text if happened else None
        return lambda tx: control.resolve(
            tx,
            self._ns,
            task_id,
            by,
            self._core.clock.now(),
            self._core.tell,
            happened=happened,
            result=text,
            rerun=rerun,
        )

    def _extend(self, run_id: str, by: str, more_tasks: int, seconds: float) -> Op[Verdict]:
        return lambda tx: control.extend(
            tx, self._ns, run_id, by, self._core.clock.now(), more_tasks=more_tasks, seconds=seconds
        )

    def _told_to_stop(self, verdict: Verdict) -> Verdict:
        """A cancel decided here reaches the attempts of this process at once."""
        if verdict.done:
            for attempt in self._core.live.all():
                if verdict.task_id in (attempt.row.id, attempt.row.run_id):
                    attempt.context.ask_to_stop()
                    if attempt.stop is not None:
                        attempt.stop()
        return verdict
