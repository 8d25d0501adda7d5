"""What an agent may ask and do about its own calls. To approve, resolve or requeue is for people."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ax_core import AX, State, Task, UnknownTask, Verdict
from ax_core.states import OPEN

UNSETTLED = (*sorted(OPEN), State.QUARANTINE)
MOST = 50

PENDING = (
    "Lists the tool calls of this conversation that are not settled: what waits for a person, what still runs, and "
    "what may or may not have happened."
)
STATUS = "Tells how one tool call of this conversation stands, by its task id."
CANCEL = (
    "Cancels the rest of what is being done for the user's current request: what waits is not executed any more, what "
    "runs is asked to stop. What was done stays done."
)


@dataclass(frozen=True)
class Own:
    """The calls that an agent may see: those of its session; where there is none, those of its run."""

    ax: AX
    session: str | None
    run_id: str | None

    def pending(self) -> list[dict[str, Any]]:
        """What is not settled, newest first."""
        if self.session is not None:
            return _listed(self.ax.tasks(session=self.session, state=UNSETTLED, limit=MOST).tasks)
        try:
            return [] if self.run_id is None else _listed(self.ax.tree(self.run_id).tasks)
        except UnknownTask:
            return []

    async def apending(self) -> list[dict[str, Any]]:
        """:meth:`pending` on an event loop."""
        if self.session is not None:
            page = await self.ax.atasks(session=self.session, state=UNSETTLED, limit=MOST)
            return _listed(page.tasks)
        try:
            return [] if self.run_id is None else _listed((await self.ax.atree(self.run_id)).tasks)
        except UnknownTask:
            return []

    def status(self, task_id: str) -> dict[str, Any]:
        """How one call stands."""
        try:
            return self._shown(task_id, self.ax.get(task_id))
        except UnknownTask:
            return _unknown(task_id)

    async def astatus(self, task_id: str) -> dict[str, Any]:
        """:meth:`status` on an event loop."""
        try:
            return self._shown(task_id, await self.ax.aget(task_id))
        except UnknownTask:
            return _unknown(task_id)

    def cancel(self) -> str:
        """Cancel the agent's run."""
        try:
            return _cancelled(None if self.run_id is None else self.ax.cancel(self.run_id, by="agent"))
        except UnknownTask:
            return _cancelled(None)

    async def acancel(self) -> str:
        """:meth:`cancel` on an event loop."""
        try:
            return _cancelled(None if self.run_id is None else await self.ax.acancel(self.run_id, by="agent"))
        except UnknownTask:
            return _cancelled(None)

    def _shown(self, task_id: str, task: Task) -> dict[str, Any]:
        mine = task.session == self.session if self.session is not None else task.run_id == self.run_id
        if not mine or (self.session is None and self.run_id is None):
            return _unknown(
                task_id
            )  # in the same words: whether another's task exists is not an agent's business
        shown = _brief(task)
        if task.state is State.SUCCESS:
            shown["result"] = task.result
        return shown


def stands(task: Task) -> str:
    """How a task stands, for a model."""
    match task.state:
        case State.SUCCESS:
            return "It was done."
        case State.CONFIRMING:
            return "It waits for a person's approval; nothing was done yet. Do not issue it again."
        case State.RUNNING:
            return "It is being executed now. Do not issue it again."
        case State.QUEUED | State.WAITING | State.RETRY_WAIT:
            return "It has not been executed yet and is going to be. Do not issue it again."
        case State.QUARANTINE if task.reason == "outcome_unknown":
            return "Nobody knows whether it took effect; a person must look. Do not repeat it."
        case State.QUARANTINE if task.reason == "invalid_args":
            return "Its arguments did not fit, and nothing was done. You may issue it with other arguments."
        case State.QUARANTINE:
            return "It was not executed: a person must look at it first. Do not repeat it."
        case State.FAILED:
            why = (task.error or {}).get("message")
            doubt = " It may have taken effect; do not repeat it." if task.maybe_applied else ""
            return f"It failed{f': {why}' if why else '.'}{doubt}"
        case State.TIMEOUT:
            return "It ran out of time. Nothing happened, or a repeat is harmless."
        case State.CANCELLED:
            how = {
                "rejected": "A person refused it",
                "approval_expired": "Nobody approved it in time",
            }.get(task.reason or "", "It was cancelled")
            return f"{how}{'; it may have been partly done.' if task.maybe_applied else '; it was not executed.'}"
        case State.COMPENSATED:
            return "It was done and has since been undone."
        case _:
            return "It was given up. Do not repeat it; tell the user."


def _brief(task: Task) -> dict[str, Any]:
    return {
        "task_id": task.id,
        "tool": task.tool,
        "arguments": task.payload,
        "state": str(task.state),
        "means": stands(task),
        "since": task.created_at.isoformat(timespec="seconds"),
    }


def _listed(tasks: tuple[Task, ...]) -> list[dict[str, Any]]:
    return [_brief(task) for task in tasks if task.state in UNSETTLED and task.reason != "invalid_args"]


def _unknown(task_id: str) -> dict[str, Any]:
    return {"task_id": task_id, "state": "unknown", "means": "There is no such task in this conversation."}


def _cancelled(verdict: Verdict | None) -> str:
    if verdict is None:
        return "There is nothing to cancel: nothing of this request is on record."
    if not verdict.done:
        return f"Nothing was changed: {verdict.message}."
    return f"Done: {verdict.message}. What was done before stays done. Tell the user."
