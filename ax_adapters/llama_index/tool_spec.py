"""Tool specs as LlamaHub lays them out: the tools registered in an AX, and what an agent may ask of its calls."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from llama_index.core.tools import FunctionTool, ToolMetadata
from llama_index.core.tools.tool_spec.base import SPEC_FUNCTION_TYPE, BaseToolSpec

from ax_core import AX, PolicyError
from ax_core.compensation import SUFFIX
from ax_core.dispatch import current_run

from ..bridge import CANCEL, PENDING, STATUS, Own, check_on_refusal
from .ax_tools import RegisteredTool
from .place import Place, known_place, place_of
from .results import teach
from .step import current_step


class AXToolSpec(BaseToolSpec):
    """The tools registered in an AX, for a LlamaIndex agent; each call goes through AX.

    Args:
        names: which of them; default all that AX can run itself, also those registered later.
        on_refusal: ``"return"`` AX's verdicts as error outputs for the model, or ``"raise"`` them.

    Raises:
        UnknownTool: no tool of that name is registered.
        PolicyError: one that AX cannot run itself: a wrapped framework tool.
    """

    def __init__(self, ax: AX, names: Iterable[str] | None = None, *, on_refusal: str = "return") -> None:
        teach(ax)
        self._ax, self._on_refusal = ax, check_on_refusal(on_refusal)
        self._names = None if names is None else list(names)
        for name in self._names or ():
            if ax.tools.get(name).validated_elsewhere:
                raise PolicyError(
                    f"tool {name!r} is a wrapped tool of a framework and runs only there: give the agent that tool"
                )

    @property
    def spec_functions(self) -> list[SPEC_FUNCTION_TYPE]:  # type: ignore[override]  # a list that may still grow
        """The names of the tools."""
        if self._names is not None:
            return list(self._names)
        ours = (tool for tool in self._ax.tools if not tool.validated_elsewhere)
        return [tool.name for tool in ours if not tool.name.endswith(SUFFIX)]

    def to_tool_list(
        self,
        spec_functions: list[SPEC_FUNCTION_TYPE] | None = None,
        func_to_metadata_mapping: dict[str, ToolMetadata] | None = None,
    ) -> list[FunctionTool]:
        """The tools, or those of them that are named.

        Raises:
            UnknownTool: there is none of that name.
        """
        made: list[FunctionTool] = []
        for each in spec_functions or self.spec_functions:
            name = each if isinstance(each, str) else each[0]
            tool = RegisteredTool(self._ax, self._ax.tools.get(name), self._on_refusal)
            if func_to_metadata_mapping and name in func_to_metadata_mapping:
                tool._metadata = func_to_metadata_mapping[name]
            made.append(tool)
        return made


class ControlTool(FunctionTool):
    """A tool about the agent's own calls. It is no task itself: what it does is on record where it does it."""

    __ax_binding__ = None  # so that wrapping a list with it leaves it as it is


class AXControlToolSpec(BaseToolSpec):
    """What an agent may ask and do about its own calls; to approve, resolve or requeue is for people.

    Args:
        session: whose calls; default those of the conversation in which the tools are called.
    """

    spec_functions: list[SPEC_FUNCTION_TYPE] = [  # noqa: RUF012  # as LlamaIndex declares it
        ("ax_pending", "ax_apending"),
        ("ax_status", "ax_astatus"),
        ("ax_cancel", "ax_acancel"),
    ]

    def __init__(self, ax: AX, *, session: str | None = None) -> None:
        self._ax, self._session = ax, session

    def to_tool_list(self, *args: Any, **kwargs: Any) -> list[FunctionTool]:
        """The tools."""
        tools = super().to_tool_list(*args, **kwargs)
        for tool in tools:
            tool.__class__ = ControlTool
            # Without the signature that LlamaIndex puts before it: a model does not know what a method is.
            tool.metadata.description = (tool.real_fn.__doc__ or "").strip()
        return tools

    def ax_pending(self) -> list[dict[str, Any]]:
        return self._own(_place()).pending()

    async def ax_apending(self) -> list[dict[str, Any]]:
        return await self._own(await _aplace()).apending()

    def ax_status(self, task_id: str) -> dict[str, Any]:
        return self._own(_place()).status(task_id)

    async def ax_astatus(self, task_id: str) -> dict[str, Any]:
        return await self._own(await _aplace()).astatus(task_id)

    def ax_cancel(self) -> str:
        return self._own(_place()).cancel()

    async def ax_acancel(self) -> str:
        return await self._own(await _aplace()).acancel()

    ax_pending.__doc__ = ax_apending.__doc__ = PENDING
    ax_status.__doc__ = ax_astatus.__doc__ = STATUS
    ax_cancel.__doc__ = ax_acancel.__doc__ = CANCEL

    def _own(self, place: Place | None) -> Own:
        scope = current_run.get()
        if scope is not None:
            return Own(self._ax, self._session or scope.session, scope.id)
        if place is None:
            return Own(self._ax, self._session, None)
        return Own(self._ax, self._session or place.scope, place.turn)


def _place() -> Place | None:
    step = current_step()
    return None if step is None else known_place(step)


async def _aplace() -> Place | None:
    step = current_step()
    return None if step is None else await place_of(step)
