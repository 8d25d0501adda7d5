"""A call as it comes in: which arguments the model gave, and which the host put beside them."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from llama_index.core.tools import FunctionTool
from llama_index.core.workflow import Context

from ax_core import keys

from .step import Step, current_step

MARK = "__ax_binding__"
"""The attribute of a wrapped tool's class that holds its binding."""
POSITIONAL = "args"
"""The name under which arguments without one are recorded."""


@dataclass(eq=False)
class Pending:
    """One call of one tool.

    Attributes:
        args, kwargs: as they came.
        step: the workflow step it is made in, if it is made in one.
        run_id: the run that it belongs to, once that is worked out.
    """

    tool: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    step: Step | None = None
    run_id: str | None = None

    @cached_property
    def shown(self) -> dict[str, Any]:
        """The model-visible arguments: what was injected is neither stored nor hashed nor shown."""
        named = {name: value for name, value in self.kwargs.items() if name not in self.injected}
        return {**self._positional, **named}

    @cached_property
    def plain(self) -> dict[str, Any] | None:
        """:attr:`shown` as plain data, as it is recorded; None where it cannot be."""
        try:
            made: dict[str, Any] = keys.plain(self.shown)
        except keys.NotCanonical:
            return None
        return made

    @cached_property
    def injected(self) -> dict[str, Any]:
        """The arguments that the host put beside the model's: a workflow's context, partial parameters as they are."""
        fixed = getattr(self.tool, "partial_params", None) or {}
        return {
            name: value
            for name, value in self.kwargs.items()
            if isinstance(value, Context) or (name in fixed and value is fixed[name])
        }

    @property
    def portable(self) -> bool:
        """Whether the recorded arguments are all that the tool is given, each by its name."""
        return self.plain is not None and not self.injected and POSITIONAL not in self._positional

    def changed(
        self, submitted: dict[str, Any], admitted: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """How to call the body with ``admitted``: what the model gave and what a person changed, injected as it was.

        What the schema only filled in is left to the function's own defaults.
        """
        given = {
            name: value
            for name, value in admitted.items()
            if name in self.shown or name not in submitted or submitted[name] != value
        }
        places = given.pop(POSITIONAL, ()) if POSITIONAL in self._positional else ()
        return tuple(places), {**given, **self.injected}

    @cached_property
    def _positional(self) -> dict[str, Any]:
        """Arguments that came by position, by the names that they fill."""
        if not self.args:
            return {}
        if isinstance(self.tool, FunctionTool):
            try:
                return dict(inspect.signature(self.tool.real_fn).bind_partial(*self.args).arguments)
            except (TypeError, ValueError):
                return {POSITIONAL: list(self.args)}
        try:
            names = list(self.tool.metadata.get_parameters_dict().get("properties", {}))
        except Exception:  # it has no JSON Schema, which is told where it is wrapped
            names = []
        if len(names) < len(self.args):
            return {POSITIONAL: list(self.args)}
        return dict(zip(names, self.args, strict=False))


def filled_in(tool: FunctionTool) -> dict[str, Any]:
    """The arguments that a function tool fills in itself (older versions of LlamaIndex know fewer kinds)."""
    return {**getattr(tool, "_field_defaults", {}), **tool.partial_params}


def learn(tool: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Pending:
    """What is known of a call as it comes in."""
    given = next((value for value in kwargs.values() if isinstance(value, Context)), None)
    return Pending(tool, args, kwargs, current_step(given))
