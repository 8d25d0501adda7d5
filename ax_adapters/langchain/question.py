"""What a person is shown of a task that waits for them."""

from __future__ import annotations

from typing import Any

from ax_core import Task

from ..bridge import DECISIONS


def question(task: Task, tool_call_id: str | None) -> dict[str, Any]:
    """The payload of the interrupt, in the shape of LangChain's own per-call approval requests."""
    expires = (task.approval or {}).get("expires_at")
    return {
        "type": "tool_approval",
        "tool_call_id": tool_call_id,
        "name": task.tool,
        "args": task.payload,
        "description": f"{task.tool} needs a person's approval before it runs.",
        "allowed_decisions": list(DECISIONS),
        "ax_task_id": task.id,
        "ax_run_id": task.run_id,
        "ax_expires_at": expires.isoformat() if expires else None,
    }
