"""AXToolkit: what is registered with AX, as LangChain tools."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from langchain_core.tools import BaseTool, BaseToolkit
from pydantic import ConfigDict, PrivateAttr

from ax_core import AX, PolicyError, Tool
from ax_core.compensation import SUFFIX

from ..bridge import Binding
from .results import teach
from .shadow import shadow


class RegisteredTool(BaseTool):
    """A registered function, with the schema and the policy that it is registered under."""

    _record: Any = PrivateAttr()

    def _run(self, /, **arguments: Any) -> Any:
        return self._record.fn(**self._record.binder(arguments))


class AsyncRegisteredTool(RegisteredTool):
    """A registered coroutine function."""

    def _run(self, /, **arguments: Any) -> Any:
        raise NotImplementedError

    async def _arun(self, /, **arguments: Any) -> Any:
        return await self._record.fn(**self._record.binder(arguments))


class AXToolkit(BaseToolkit):
    """The tools registered with an AX (``@ax.tool``, ``ax.register``) as a LangChain toolkit; calls go through AX.

    Args:
        names: only these, in this order; default all, those too that are registered after the toolkit was made.

    Async tools can be called synchronously too.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    ax: AX
    names: tuple[str, ...] | None = None

    def __init__(self, ax: AX, names: Iterable[str] | None = None) -> None:
        super().__init__(ax=ax, names=None if names is None else tuple(names))  # type: ignore[call-arg]

    def get_tools(self) -> list[BaseTool]:
        """The tools.

        Raises:
            UnknownTool: ``names`` has one that is not registered.
            PolicyError: it has one that another framework's wrapped tool stands behind.
        """
        teach(self.ax)
        if self.names is None:
            return [_made(self.ax, tool) for tool in self.ax.tools if _for_agents(tool)]
        return [_made(self.ax, self.ax.tools.get(name)) for name in self.names]


def _for_agents(tool: Tool[..., Any]) -> bool:
    return not tool.validated_elsewhere and not tool.name.endswith(SUFFIX)


def _made(ax: AX, record: Tool[..., Any]) -> BaseTool:
    if record.validated_elsewhere:
        raise PolicyError(
            f"tool {record.name!r} is a wrapped framework tool and runs where it is wrapped; "
            "give the agent that tool itself"
        )
    kind = AsyncRegisteredTool if record.is_async else RegisteredTool
    bare = kind(
        name=record.name, description=record.description or record.name, args_schema=dict(record.schema)
    )
    bare._record = record
    return shadow(bare, Binding(ax, record.policy, sync_bridge=True))
