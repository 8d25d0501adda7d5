"""What a person sent to resume a graph, read as a decision about a task."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import PlainValidator, WithJsonSchema

from ax_core import PolicyError, Task

from ..bridge import DECISIONS, Decision

NAMES = "ax_task_id"
"""Under this name an answer may say which task it is meant for, as the question did."""


def understood(answer: Any, task: Task, by: str) -> Decision:
    """A resume value as a decision: LangChain's forms, or plain ``"approve"``/``"reject"``/True/False.

    Raises:
        PolicyError: it is none, or names another task.
    """
    answer = _single(answer)
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
    if (other := answer.get(NAMES, task.id)) != task.id:
        raise PolicyError(f"the answer names task {other}, and was given for task {task.id}", task_id=task.id)
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


def named(answer: Any) -> str | None:
    """The task that an answer says it is meant for."""
    answer = _single(answer)
    said = answer.get(NAMES) if isinstance(answer, dict) else None
    return said if isinstance(said, str) else None


def answers_to(task: Task) -> Any:
    """A type that takes only what is an answer to the question about ``task``."""

    def check(answer: Any) -> Any:
        try:
            understood(answer, task, "")
        except PolicyError as error:
            raise ValueError(str(error)) from None
        return answer

    return Annotated[Any, PlainValidator(check), WithJsonSchema(_ANSWER)]


def _single(answer: Any) -> Any:
    decisions = answer.get("decisions") if isinstance(answer, dict) else None
    return decisions[0] if isinstance(decisions, list) and len(decisions) == 1 else answer


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
