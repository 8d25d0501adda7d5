"""AXControlToolkit: what an agent may ask and do about its own calls, as LangChain tools."""

# No postponed annotations here: LangChain looks for RunnableConfig in the raw ones of `_run`.
from typing import Any

from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool, BaseToolkit
from pydantic import BaseModel, ConfigDict, Field

from ax_core import AX
from ax_core.dispatch import current_run

from ..bridge import CANCEL, PENDING, STATUS, Own
from .identity import identify


class _Nothing(BaseModel):
    pass


class _OneTask(BaseModel):
    task_id: str = Field(description="The id of the task, as another tool call or ax_pending named it.")


class ControlTool(BaseTool):
    """A tool about the agent's own calls. It is no task itself: what it does is on record where it does it."""

    __ax_binding__ = None  # so that neither wrap_tools nor AXMiddleware puts it under AX
    model_config = ConfigDict(arbitrary_types_allowed=True)

    ax: AX

    def own(self, config: RunnableConfig) -> Own:
        """The calls of whoever asks."""
        scope = current_run.get()
        if scope is not None:
            return Own(self.ax, scope.session, scope.id)
        asks = identify(self.ax.namespace, self.name, None, None, config)
        return Own(self.ax, asks.session, asks.run_id)


class PendingTool(ControlTool):
    """``ax_pending``."""

    name: str = "ax_pending"
    description: str = PENDING
    args_schema: Any = _Nothing

    def _run(self, config: RunnableConfig) -> Any:
        return self.own(config).pending()

    async def _arun(self, config: RunnableConfig) -> Any:
        return await self.own(config).apending()


class StatusTool(ControlTool):
    """``ax_status``."""

    name: str = "ax_status"
    description: str = STATUS
    args_schema: Any = _OneTask

    def _run(self, task_id: str, config: RunnableConfig) -> Any:
        return self.own(config).status(task_id)

    async def _arun(self, task_id: str, config: RunnableConfig) -> Any:
        return await self.own(config).astatus(task_id)


class CancelTool(ControlTool):
    """``ax_cancel``."""

    name: str = "ax_cancel"
    description: str = CANCEL
    args_schema: Any = _Nothing

    def _run(self, config: RunnableConfig) -> Any:
        return self.own(config).cancel()

    async def _arun(self, config: RunnableConfig) -> Any:
        return await self.own(config).acancel()


class AXControlToolkit(BaseToolkit):
    """``ax_pending``, ``ax_status`` and ``ax_cancel``: an agent sees its own session's calls (else its run's) and may
    cancel its own run. To approve, resolve or requeue is for people."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    ax: AX

    def __init__(self, ax: AX) -> None:
        super().__init__(ax=ax)  # type: ignore[call-arg]

    def get_tools(self) -> list[BaseTool]:
        """The three tools."""
        return [PendingTool(ax=self.ax), StatusTool(ax=self.ax), CancelTool(ax=self.ax)]
