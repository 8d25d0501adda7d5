"""The call that ``run`` learns and ``_run`` dispatches, handed over in a context variable."""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from langchain_core.messages import ToolMessage
from langchain_core.runnables.config import ensure_config

from ax_core import AXError, keys
from ax_core.schema import Invalid


@dataclass(eq=False)
class Pending:
    """One ``run`` of one tool.

    Attributes:
        raw: the tool input as the model gave it.
        entered: ``_run`` was reached, so the framework accepted the arguments.
        note: what the model is to be told besides the result.
        verdict: AX's own answer, if there is one: not the tool's exception.
        misfit: what the framework found wrong with the arguments.
        run_id: the run that the call belongs to, once that is worked out.
    """

    tool: Any
    raw: Any
    tool_call_id: str | None
    config: Any
    entered: bool = False
    note: str | None = None
    verdict: AXError | None = None
    misfit: Invalid | None = None
    run_id: str | None = None

    @cached_property
    def shown(self) -> Any:
        """The model-visible arguments: what was injected is neither stored nor hashed nor shown."""
        if not isinstance(self.raw, dict):
            return self.raw if isinstance(self.raw, str) else {}
        hidden = self.injected
        return {name: value for name, value in self.raw.items() if name not in hidden}

    @cached_property
    def plain(self) -> Any:
        """:attr:`shown` as plain data, as it is recorded; None where it cannot be."""
        try:
            return keys.plain(self.shown)
        except keys.NotCanonical:
            return None

    def edited(self, admitted: Any) -> bool:
        """Whether a person changed the arguments before they were run."""
        return self.plain is not None and admitted != self.plain

    @cached_property
    def injected(self) -> frozenset[str]:
        """Names that the framework fills in: those it marks, and those that the model's schema leaves out."""
        full, shown = fields_of(self.tool.get_input_schema()), self.tool.tool_call_schema
        left_out = set(full) - set(fields_of(shown)) if not isinstance(shown, dict) else set()
        return frozenset(getattr(self.tool, "_injected_args_keys", ())) | left_out


current_pending: ContextVar[Pending | None] = ContextVar("ax_langchain_pending", default=None)
dispatching: ContextVar[tuple[int, ...]] = ContextVar("ax_langchain_dispatching", default=())
"""The tools whose body runs here: a base class's ``_arun`` may come back through ``self._run``."""


def fields_of(model: Any) -> dict[str, Any]:
    """The fields of a pydantic model class, of either major version; none of anything else."""
    if hasattr(model, "model_fields"):
        return dict(model.model_fields)
    return dict(getattr(model, "__fields__", {}))  # pydantic v1


def learn(tool: Any, raw: Any, tool_call_id: str | None, config: Any) -> Pending:
    """What ``run`` knows of a call."""
    return Pending(tool, raw, tool_call_id, ensure_config(config))


def refusal(error: AXError, pending: Pending) -> Any:
    """A verdict in the form in which this caller takes results."""
    if pending.tool_call_id is None:
        return error.for_model
    return ToolMessage(
        error.for_model, tool_call_id=pending.tool_call_id, name=pending.tool.name, status="error"
    )


def noted(result: Any, note: str | None) -> Any:
    """The result with what the model is to be told; only a message carries it, a raw object stays as it is."""
    if note is None or not isinstance(result, ToolMessage):
        return result
    if isinstance(result.content, str):
        content: Any = f"{result.content}\n\n[{note}]" if result.content else f"[{note}]"
    else:
        content = [*result.content, {"type": "text", "text": f"[{note}]"}]
    return result.model_copy(update={"content": content})
