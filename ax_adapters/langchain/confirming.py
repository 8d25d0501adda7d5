"""Confirmation where LangGraph can pause: the task is on record first, then the graph is interrupted.

The row is the truth. A resume value is one more way to decide, through the same verbs as any other; a task that was
decided elsewhere is not asked about again, but takes the resume value that was meant for it.
"""

from __future__ import annotations

import inspect
from typing import Annotated, Any

from pydantic import PlainValidator, WithJsonSchema

from ax_core import PolicyError, State, Task

from ..bridge import DECISIONS, Decision
from .pending import Pending


def can_pause(pending: Pending) -> bool:
    """Whether an interrupt of this call can be resumed: it runs in a graph that has a checkpointer."""
    conf = pending.config.get("configurable") or {}
    return conf.get("__pregel_checkpointer") is not None and conf.get("__pregel_scratchpad") is not None


def answer_given(pending: Pending) -> bool:
    """Whether this execution of the node was resumed with a value that nobody has taken yet."""
    pad = pending.config["configurable"]["__pregel_scratchpad"]
    return bool(pad.resume) or pad.get_null_resume(False) is not None


def take_answer(pending: Pending, task: Task | None) -> None:
    """A call that had asked and was decided elsewhere takes the value that was sent for it, so that no other does."""
    if task is not None and task.approval is not None and task.state is not State.CONFIRMING:
        _interrupt(pending, task)


def ask(pending: Pending, task: Task) -> Decision:
    """Pause the graph for a person; on the resumed execution, their answer.

    The payload has the shape of LangChain's own per-call approval requests, so that their front ends show it.

    Raises:
        GraphInterrupt: the first time.
        ValidationError, PolicyError: an answer that is none; the question stands.
    """
    thread = (pending.config.get("configurable") or {}).get("thread_id")
    return understood(_interrupt(pending, task, task), task, f"langgraph:{thread}")


def _interrupt(pending: Pending, task: Task, checked: Task | None = None) -> Any:
    """LangGraph's own interrupt; what is no answer to ``checked`` is refused before LangGraph saves it as one."""
    from langgraph.types import interrupt

    approval = task.approval or {}
    expires = approval.get("expires_at")
    schema = (
        {} if checked is None or not _takes_schema(interrupt) else {"response_schema": _answers_to(checked)}
    )
    return interrupt(
        {
            "type": "tool_approval",
            "tool_call_id": pending.tool_call_id,
            "name": task.tool,
            "args": task.payload,
            "description": f"{task.tool} needs a person's approval before it runs.",
            "allowed_decisions": list(DECISIONS),
            "ax_task_id": task.id,
            "ax_run_id": task.run_id,
            "ax_expires_at": expires.isoformat() if expires else None,
        },
        **schema,
    )


def _takes_schema(interrupt: Any) -> bool:
    return "response_schema" in inspect.signature(interrupt).parameters


def _answers_to(task: Task) -> Any:
    def check(answer: Any) -> Any:
        try:
            understood(answer, task, "")
        except PolicyError as error:
            raise ValueError(str(error)) from None
        return answer

    return Annotated[Any, PlainValidator(check), WithJsonSchema(_ANSWER)]


_ANSWER = {
    "type": "object",
    "properties": {
        "type": {"enum": list(DECISIONS)},
        "message": {"type": "string"},
        "edited_action": {
            "type": "object",
            "properties": {"name": {"type": "string"}, "args": {"type": "object"}},
            "required": ["args"],
        },
    },
    "required": ["type"],
}
"""The full form of an answer, for front ends that build a form from it."""


def understood(answer: Any, task: Task, by: str) -> Decision:
    """A resume value as a decision: LangChain's forms, or plain ``"approve"``/``"reject"``/True/False."""
    if (
        isinstance(answer, dict)
        and isinstance(answer.get("decisions"), list)
        and len(answer["decisions"]) == 1
    ):
        answer = answer["decisions"][0]
    if isinstance(answer, bool):
        answer = "approve" if answer else "reject"
    if isinstance(answer, str):
        answer = {"type": answer}
    kind = answer.get("type") if isinstance(answer, dict) else None
    if kind not in DECISIONS:
        raise PolicyError(
            f"the answer to the approval of task {task.id} is {answer!r}; "
            'send {"type": "approve"}, {"type": "reject", "message": …}, {"type": "edit", "edited_action": …} '
            'or {"type": "respond", "message": …}',
            task_id=task.id,
        )
    named = answer.get("ax_task_id", task.id)
    if named != task.id:
        raise PolicyError(f"the answer names task {named}, and was given for task {task.id}", task_id=task.id)
    args = None
    if kind == "edit":
        action = answer.get("edited_action") or {}
        if action.get("name", task.tool) != task.tool or not isinstance(action.get("args"), dict):
            raise PolicyError(
                f"an edit of task {task.id} must keep the tool {task.tool!r} and give its args",
                task_id=task.id,
            )
        args = action["args"]
    return Decision(kind, str(answer.get("by") or by), args, answer.get("message"))
