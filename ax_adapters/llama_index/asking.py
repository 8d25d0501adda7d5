"""Confirmation where a workflow can pause: the task is on record first, then its step waits for an event.

The row is the truth. An event is one more way to decide, through the same verbs as any other; a task that was decided
elsewhere is not asked about again.
"""

from __future__ import annotations

from typing import Any

from ax_core import AX, InvalidArguments, Task

from ..bridge import Decision, adecide
from .events import ApprovalDecision, ApprovalRequired
from .step import Step, pauses
from .waking import sleep


def waits_of(request_id: str) -> str:
    """How the ids of a call's waits begin: no two calls share one, for a workflow keeps one wait by an id."""
    return f"ax:{request_id}:"


class Question:
    """What one call asks about one task, in this execution of its step and in those before and after."""

    def __init__(self, ax: AX, task: Task, request_id: str, step: Step) -> None:
        self._ax, self._task, self._request, self._step = ax, task, request_id, step

    async def answered(self) -> Decision | None:
        """Pause the step for a person; on a later execution, what they decided (None: it is on record by now).

        Raises:
            WaitingForEvent: nobody decided yet.
            TimeoutError: nobody did in time.
        """
        waits = self._step.waiters(waits_of(self._request))
        said = await self._wait_for(waits[-1].waiter_id if waits else f"{waits_of(self._request)}0")
        return (
            None if said.decision == "decided" else Decision(said.decision, said.by, said.args, said.message)
        )

    async def decide(self, said: Decision) -> bool:
        """Put a decision on record; whether the person answered in the tool's place.

        Raises:
            WaitingForEvent: it was none, for its arguments do not fit; the question is put again.
        """
        try:
            verdict = await adecide(self._ax, self._task, said)
        except InvalidArguments as unfit:
            await self.again(str(unfit))
            return False
        return verdict.done and said.kind == "respond"

    async def again(self, problem: str) -> None:
        """Put the question once more.

        Raises:
            WaitingForEvent: always.
        """
        waits = self._step.waiters(waits_of(self._request))
        await self._wait_for(f"{waits_of(self._request)}{len(waits)}", problem)

    async def _wait_for(self, waiter_id: str, problem: str | None = None) -> ApprovalDecision:
        # Who attached to another's task waits beside it: a second card would be a second question.
        asks = self._task.request_id == self._request
        known = [wait for wait in self._step.waiters(waits_of(self._request)) if wait.waiter_id == waiter_id]
        if asks and known and known[0].resolved_event is None and not known[0].timed_out:
            # Restored with its context: nobody who listens now has seen the card, and LlamaIndex shows it but once.
            self._step.ctx.write_event_to_stream(self._card(problem))
        try:
            said: ApprovalDecision = await self._step.ctx.wait_for_event(
                ApprovalDecision,
                waiter_id=waiter_id,
                waiter_event=self._card(problem) if asks else None,
                requirements={"ax_task_id": self._task.id},
                timeout=self._left(),
            )
        except pauses():
            sleep(self._ax, self._request, self._task.id, self._step.ctx)
            raise
        return said

    def _card(self, problem: str | None) -> ApprovalRequired:
        task, expires = self._task, self._expires()
        return ApprovalRequired(
            ax_task_id=task.id,
            ax_run_id=task.run_id,
            name=task.tool,
            args=task.payload,
            prefix=f"{task.tool} needs a person's approval before it runs.",
            tool_call_id=self._step.tool_id,
            ax_expires_at=expires.isoformat() if expires else None,
            problem=problem,
        )

    def _left(self) -> float | None:
        """Seconds until the question has lapsed, and that is on record."""
        expires, ax = self._expires(), self._ax
        if expires is None:
            return None
        left: float = expires.timestamp() - ax._core.clock.now() / 1e6
        return max(0.0, left) + ax.settings.heartbeat + 1.0

    def _expires(self) -> Any:
        return (self._task.approval or {}).get("expires_at")
