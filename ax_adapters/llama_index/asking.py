"""Confirmation where a workflow can pause: the task is on record first, then its step waits for an event.

The row is the truth. An event is one more way to decide, through the same verbs as any other; a task that was decided
elsewhere is not asked about again.
"""

from __future__ import annotations

from typing import Any, NoReturn

from ax_core import AX, InvalidArguments, Task

from ..bridge import Decision, adecide
from .events import ApprovalDecision, ApprovalRequired
from .step import Step, pauses
from .waking import Waking


def wait_of(request_id: str) -> str:
    """The id of a call's wait: no two calls share one, for a workflow keeps one wait by an id."""
    return f"ax:{request_id}"


class Question:
    """What one call asks about one task, in this execution of its step and in those before and after."""

    def __init__(self, ax: AX, task: Task, request_id: str, step: Step) -> None:
        self._ax, self._task, self._request, self._step = ax, task, request_id, step
        # Who attached to another's task waits beside it: a second card would be a second question.
        self._shows = task.request_id == request_id
        self._what = {"ax_task_id": task.id}

    async def answered(self) -> Decision | None:
        """Pause the step for a person; on a later execution, what they decided (None: it is on record by now).

        Raises:
            WaitingForEvent: nobody decided yet.
            TimeoutError: nobody did in time.
        """
        wait = self._step.wait(wait_of(self._request))
        if wait is not None and wait.resolved_event is None and not wait.timed_out:
            # Restored with its context: nobody who listens now has seen the card, and LlamaIndex shows it but once.
            self._show()
        try:
            said: ApprovalDecision = await self._step.ctx.wait_for_event(
                ApprovalDecision,
                waiter_id=wait_of(self._request),
                waiter_event=self._card() if self._shows else None,
                requirements=self._what,
                timeout=self._left(),
            )
        except pauses():
            self._ax.extension(Waking).sleep(self._request, self._task.id, self._step.ctx)
            raise
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
            self.again(str(unfit))
        return verdict.done and said.kind == "respond"

    def again(self, problem: str) -> NoReturn:
        """Put the question once more.

        Raises:
            WaitingForEvent: always.
        """
        self._show(problem)
        self._ax.extension(Waking).sleep(self._request, self._task.id, self._step.ctx)
        # In the place of the wait that was answered: a second one would be woken by the same event as the first.
        raise self._step.waiting(wait_of(self._request), ApprovalDecision, self._what)

    def _show(self, problem: str | None = None) -> None:
        if self._shows:
            self._step.ctx.write_event_to_stream(self._card(problem))

    def _card(self, problem: str | None = None) -> ApprovalRequired:
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
