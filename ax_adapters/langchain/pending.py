"""The call that ``run`` learns and ``_run`` dispatches, handed over in a context variable."""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from langchain_core.messages import ToolMessage
from langchain_core.runnables.config import ensure_config

from ax_core import AXError


@dataclass(eq=False)
class Pending:
    """One ``run`` of one tool.

    Attributes:
        raw: the tool input as the model gave it.
        entered: ``_run`` was reached, so the framework accepted the arguments.
        note: what the model is to be told besides the result.
        verdict: AX's own answer, if there is one: not the tool's exception.
    """

    tool: Any
    raw: Any
    tool_call_id: str | None
    config: Any
    entered: bool = False
    note: str | None = None
    verdict: AXError | None = None


current_pending: ContextVar[Pending | None] = ContextVar("ax_langchain_pending", default=None)
dispatching: ContextVar[tuple[int, ...]] = ContextVar("ax_langchain_dispatching", default=())
"""The tools whose body runs here: a base class's ``_arun`` may come back through ``self._run``."""


def learn(tool: Any, raw: Any, tool_call_id: str | None, config: Any) -> Pending:
    """What ``run`` knows of a call."""
    return Pending(tool, raw, tool_call_id, ensure_config(config))


def refusal(error: AXError, pending: Pending) -> Any:
    """A verdict in the form in which this caller takes results."""
    if pending.tool_call_id is None:
        return error.for_model
    return ToolMessage(error.for_model, tool_call_id=pending.tool_call_id, name=pending.tool.name, status="error")


def noted(result: Any, note: str | None) -> Any:
    """The result with what the model is to be told; only a message carries it, a raw object stays as it is."""
    if note is None or not isinstance(result, ToolMessage):
        return result
    if isinstance(result.content, str):
        content: Any = f"{result.content}\n\n[{note}]" if result.content else f"[{note}]"
    else:
        content = [*result.content, {"type": "text", "text": f"[{note}]"}]
    return result.model_copy(update={"content": content})
