"""Where the tools of a framework are made, and what puts them under AX."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Seam:
    """A framework as the plugin needs it.

    Attributes:
        metaclass: the class whose call makes every tool.
        tool: the base of all tools.
        wrap: the adapter's ``wrap_tool``.
    """

    metaclass: Any
    tool: type
    wrap: Callable[..., Any]


def langchain() -> Seam:
    """LangChain's tools are pydantic models."""
    from langchain_core.tools import BaseTool
    from pydantic._internal._model_construction import ModelMetaclass

    from ax_adapters.langchain import wrap_tool

    return Seam(ModelMetaclass, BaseTool, wrap_tool)


def llama_index() -> Seam:
    """LlamaIndex's are plain classes with abstract methods; agents make them of functions, and their handoffs."""
    from abc import ABCMeta

    from llama_index.core.tools import BaseTool

    from ax_adapters.llama_index import wrap_tool

    return Seam(ABCMeta, BaseTool, wrap_tool)


SEAMS = {"langchain": langchain, "llama_index": llama_index}
