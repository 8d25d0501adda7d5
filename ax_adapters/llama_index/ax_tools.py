"""The tools that are registered in an AX, as LlamaIndex tools."""

from __future__ import annotations

import functools
from typing import Any

from llama_index.core.bridge.pydantic import BaseModel, Field, create_model
from llama_index.core.tools import FunctionTool, ToolMetadata, ToolOutput

from ax_core import AX, Tool

from ..bridge import Binding
from .dispatching import adispatch, dispatch
from .pending import learn


class RegisteredTool(FunctionTool):
    """A tool of AX as a LlamaIndex agent calls it; what it returns becomes the output's ``raw_output``."""

    __ax_binding__: Any = None

    def __init__(self, ax: AX, tool: Tool[..., Any], on_refusal: str = "return") -> None:
        self.__ax_binding__ = Binding(ax, tool.policy, on_refusal)

        @functools.wraps(tool.fn)
        def fn(**kwargs: Any) -> Any:
            return ax.call(tool.name, kwargs)

        @functools.wraps(tool.fn)
        async def async_fn(**kwargs: Any) -> Any:
            return await ax.acall(tool.name, kwargs)

        metadata = ToolMetadata(description=tool.description, name=tool.name, fn_schema=model_of(tool))
        super().__init__(fn=fn, async_fn=async_fn, metadata=metadata)
        self.requires_context, self.ctx_param_name = False, None

    def call(self, *args: Any, **kwargs: Any) -> ToolOutput:
        """Call it through AX; a verdict is an error output, for the model to read."""
        output: ToolOutput = dispatch(self.__ax_binding__, learn(self, args, kwargs), None)
        return output

    async def acall(self, *args: Any, **kwargs: Any) -> ToolOutput:
        """:meth:`call` on an event loop."""
        output: ToolOutput = await adispatch(self.__ax_binding__, learn(self, args, kwargs), None)
        return output


def model_of(tool: Tool[..., Any]) -> type[BaseModel]:
    """A model class that publishes a tool's own JSON Schema: LlamaIndex knows schemas as classes only."""
    schema = tool.schema
    required = set(schema.get("required", ()))

    class Arguments(BaseModel):
        @classmethod
        def model_json_schema(cls, *args: Any, **kwargs: Any) -> dict[str, Any]:
            return {"title": tool.name, **schema}

    fields: dict[str, Any] = {
        name: (
            Any,
            ...
            if name in required
            else Field(default=part.get("default") if isinstance(part, dict) else None),
        )
        for name, part in schema.get("properties", {}).items()
        if name.isidentifier() and not name.startswith(("_", "model_")) and not hasattr(BaseModel, name)
    }
    return create_model(tool.name, __base__=Arguments, **fields)
