"""The call that ``run`` learns and ``_run`` dispatches, handed over in a context variable."""

from __future__ import annotations

from contextvars import ContextVar
from typing import Any
from weakref import WeakKeyDictionary

from langchain_core.messages import ToolMessage
from langchain_core.runnables.config import ensure_config
from langchain_core.tools import BaseTool

from ax_core import AXError, keys
from ax_core.schema import Invalid

MARK = "__ax_binding__"
"""The attribute of a wrapped tool's class that holds its binding."""


class Pending:
    """One ``run`` of one tool.

    Attributes:
        raw: the tool input as the model gave it.
        entered: ``_run`` was reached, so the framework accepted the arguments.
        note: what the model is to be told besides the result.
        verdict: AX's own answer, if there is one: not the tool's exception.
        misfit: what the framework found wrong with the arguments.
        run_id: the run that the call belongs to, once that is worked out.
        inside: what the body is to see of LangGraph's config instead of what the call was given.
    """

    __slots__ = (
        "_injected", "_plain", "_shown", "config", "entered", "inside", "misfit", "note", "raw", "run_id", "tool",
        "tool_call_id", "verdict",
    )  # fmt: skip

    def __init__(self, tool: Any, raw: Any, tool_call_id: str | None, config: Any) -> None:
        self.tool, self.raw, self.tool_call_id, self.config = tool, raw, tool_call_id, config
        self.entered = False
        self.note: str | None = None
        self.verdict: AXError | None = None
        self.misfit: Invalid | None = None
        self.run_id: str | None = None
        self.inside: dict[str, Any] | None = None
        self._shown: Any = _UNKNOWN
        self._plain: Any = _UNKNOWN
        self._injected: frozenset[str] | None = None

    @property
    def shown(self) -> Any:
        """The model-visible arguments: what was injected is neither stored nor hashed nor shown."""
        if self._shown is _UNKNOWN:
            if isinstance(self.raw, dict):
                hidden = self.injected
                self._shown = {name: value for name, value in self.raw.items() if name not in hidden}
            else:
                self._shown = self.raw if isinstance(self.raw, str) else {}
        return self._shown

    @property
    def plain(self) -> Any:
        """:attr:`shown` as plain data, as it is recorded; None where it cannot be."""
        if self._plain is _UNKNOWN:
            try:
                self._plain = keys.plain(self.shown)
            except keys.NotCanonical:
                self._plain = None
        return self._plain

    def edited(self, admitted: Any) -> bool:
        """Whether a person changed the arguments before they were run."""
        return self.plain is not None and admitted != self.plain

    @property
    def injected(self) -> frozenset[str]:
        """Names that the framework fills in: those it marks, and those that the model's schema leaves out."""
        if self._injected is None:
            self._injected = _injected(self.tool)
        return self._injected


def _injected(tool: Any) -> frozenset[str]:
    marked: frozenset[str] = frozenset(getattr(tool, "_injected_args_keys", ()))
    schema, kind = tool.args_schema, type(tool)
    if isinstance(schema, dict):
        return marked
    if schema is None or (kind.tool_call_schema, kind.get_input_schema) != _READING:
        return marked | _left_out(tool)
    if (known := _left_out_of.get(schema)) is None:
        known = _left_out_of[schema] = _left_out(tool)
    return marked | known


def _left_out(tool: Any) -> frozenset[str]:
    shown = tool.tool_call_schema
    if isinstance(shown, dict):
        return frozenset()
    return frozenset(fields_of(tool.get_input_schema())) - frozenset(fields_of(shown))


_UNKNOWN: Any = object()
_READING = (BaseTool.tool_call_schema, BaseTool.get_input_schema)
"""How a tool reads both schemas from ``args_schema`` alone."""
_left_out_of: WeakKeyDictionary[type, frozenset[str]] = WeakKeyDictionary()
"""By ``args_schema``: to compare the schemas anew at every call takes as long as half of the framework's own work."""

current_pending: ContextVar[Pending | None] = ContextVar("ax_langchain_pending", default=None)


def fields_of(model: Any) -> dict[str, Any]:
    """The fields of a pydantic model class, of either major version; none of anything else."""
    if hasattr(model, "model_fields"):
        return dict(model.model_fields)
    return dict(getattr(model, "__fields__", {}))  # pydantic v1


def learn(tool: Any, raw: Any, tool_call_id: str | None, config: Any) -> Pending:
    """What ``run`` knows of a call."""
    whole = config if config is not None and config.keys() >= _ENSURED else ensure_config(config)
    return Pending(tool, raw, tool_call_id, whole)


_ENSURED = frozenset({"tags", "metadata", "callbacks", "recursion_limit", "configurable"})
"""What a config has that came through ``ensure_config``: ``invoke`` has done so before."""


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
