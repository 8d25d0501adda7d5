"""What stands before a step of the model: a decision round is counted, and the step has the time that is left."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Awaitable, Callable
from typing import Any

from langchain_core.messages import AIMessage

from ax_core import AXError, BudgetExceeded, TaskCancelled
from ax_core.app.runs import RunBlock

from ..bridge import refusals
from .model_step import StepTooLong, abounded, bounded

_KEEP = 1024


class Rounds:
    """The model's steps under one middleware.

    A run that may not go on ends its agent with a last message, which says why.

    Args:
        seconds: for one step; the run's own remaining time cuts it.
    """

    def __init__(self, on_refusal: str, seconds: float | None) -> None:
        self._on_refusal, self._seconds = on_refusal, seconds
        self._said_all: OrderedDict[str, None] = OrderedDict()

    def step(self, block: RunBlock, ask: Callable[[], Any]) -> Any:
        """One step of the model in a run."""
        left: float | None = None
        try:
            left = block.round()
        except (BudgetExceeded, TaskCancelled) as error:
            if (last := self._last(block.id, error)) is not None:
                return last
        if (over := refusals.over(block.id)) is not None:
            return self.last_word(over)
        try:
            return bounded(ask, self._cut(left))
        except StepTooLong:
            if not self._by_run(left):
                raise
        try:
            block.round()
        except BudgetExceeded as error:
            return self.last_word(error)
        return self.last_word(_out_of_time(block))

    async def astep(self, block: RunBlock, ask: Callable[[], Awaitable[Any]]) -> Any:
        """:meth:`step` on an event loop."""
        left: float | None = None
        try:
            left = await block.around()
        except (BudgetExceeded, TaskCancelled) as error:
            if (last := self._last(block.id, error)) is not None:
                return last
        if (over := refusals.over(block.id)) is not None:
            return self.last_word(over)
        try:
            return await abounded(ask, self._cut(left))
        except StepTooLong:
            if not self._by_run(left):
                raise
        try:
            await block.around()
        except BudgetExceeded as error:
            return self.last_word(error)
        return self.last_word(_out_of_time(block))

    def alone(self, ask: Callable[[], Any]) -> Any:
        """A step outside of every run."""
        return bounded(ask, self._seconds)

    async def aalone(self, ask: Callable[[], Awaitable[Any]]) -> Any:
        """:meth:`alone` on an event loop."""
        return await abounded(ask, self._seconds)

    def cut_short(self, run: str, error: AXError) -> AIMessage | None:
        """A run that was cancelled under its agent: the model may say one more thing, and tools are refused."""
        if run in self._said_all or self._on_refusal == "raise":
            return self.last_word(error)
        self._said_all[run] = None
        while len(self._said_all) > _KEEP:
            self._said_all.popitem(last=False)
        return None

    def last_word(self, error: AXError) -> AIMessage:
        """The last message of an agent that may not go on."""
        if self._on_refusal == "raise":
            raise error
        return AIMessage(f"I had to stop here: {error}", additional_kwargs={"ax_code": error.code})

    def _last(self, run: str, error: AXError) -> AIMessage | None:
        if isinstance(error, TaskCancelled):
            return self.cut_short(run, error)
        # A model whose tool calls were refused may still answer with what it has.
        return None if refusals.known(run) else self.last_word(error)

    def _cut(self, left: float | None) -> float | None:
        if left is None or self._seconds is None:
            return self._seconds if left is None else left
        return min(left, self._seconds)

    def _by_run(self, left: float | None) -> bool:
        return left is not None and (self._seconds is None or left < self._seconds)


def _out_of_time(block: RunBlock) -> BudgetExceeded:
    return BudgetExceeded(f"run {block.id} may do no more: its wall time is over")
