"""Running a tool's body: on this thread, on a thread of its own, or on an event loop; it ends in an Outcome."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Callable
from typing import Any

from .. import faults
from ..decide import Lost, Outcome, Paused, Raised, Returned, Stopped, TimedOut
from ..errors import NotApplied, TaskCancelled, TaskTimeout
from ..frozen import frozen
from ..policy import Policy
from .context import Context
from .scope import current_task

GRACE = 0.25
"""A cancelled coroutine may take this share of its timeout to end, at most a second, before it is given up."""


class Lapsed(Exception):
    """The process stood still between the claim and the body, for longer than the claim holds."""


@frozen(eq=False)
class Body:
    """One attempt's body, ready to be entered.

    Attributes:
        run: takes the admitted arguments; a coroutine function where ``is_async``.
        passes: exceptions with which the framework pauses: they go through untouched.
    """

    run: Callable[[dict[str, Any]], Any]
    args: dict[str, Any]
    policy: Policy
    context: Context
    is_async: bool
    passes: tuple[type[BaseException], ...] = ()

    def __call__(self) -> tuple[Outcome, BaseException | None]:
        """Enter a sync body. The second part is what must go on up to the caller's own frames."""
        token = current_task.set(self.context)
        try:
            faults.point("body.before")
            self._still_mine()
            value = self.run(self.args)
            faults.point("body.after")
            return Returned(value), None
        except BaseException as error:
            return self.judged(error)
        finally:
            current_task.reset(token)

    def _still_mine(self) -> None:
        """Enter under a claim that holds only: somebody else may have been given the task since.

        Raises:
            Lapsed: the lease ran out. (A TRANSACTIONAL body is fenced by the database itself.)
        """
        if self.context.lapsed:
            raise Lapsed

    def judged(self, error: BaseException) -> tuple[Outcome, BaseException | None]:
        """What an exception out of the body means, and whether it must go on."""
        if isinstance(error, Lapsed):
            return Lost(entered=False), None
        if isinstance(error, self.passes):
            return Paused(), error
        if isinstance(error, TaskCancelled) and error.task_id == self.context.task_id:
            return Stopped(by_itself=True), None
        if isinstance(error, TaskTimeout) and error.task_id == self.context.task_id:
            return TimedOut(closed=True), None
        if isinstance(error, Exception | asyncio.CancelledError):
            certain = isinstance(error, (NotApplied, *self.policy.not_applied))
            after = getattr(error, "retry_after", None)
            return Raised(error, certain, float(after) if isinstance(after, int | float) else None), None
        return Lost(
            entered=True
        ), error  # KeyboardInterrupt, SystemExit: the process is leaving, not the tool failing

    def start(self) -> asyncio.Task[Any]:
        """Enter an async body as a task of the running loop, in a copy of the caller's context."""
        context = contextvars.copy_context()
        context.run(current_task.set, self.context)
        return asyncio.get_running_loop().create_task(self._enter(), context=context)

    async def _enter(self) -> Any:
        faults.point("body.before")
        self._still_mine()
        value = await self.run(self.args)
        faults.point("body.after")
        return value

    def ended(self, task: asyncio.Task[Any], asked_to_stop: bool) -> tuple[Outcome, BaseException | None]:
        """The outcome of an async body that is done."""
        if task.cancelled():
            if asked_to_stop:
                return Stopped(by_itself=False), None
            return Raised(asyncio.CancelledError("the tool cancelled itself")), None
        error = task.exception()
        return (Returned(task.result()), None) if error is None else self.judged(error)


def grace(seconds: float | None) -> float:
    """How long a body that was told to stop may take to do so."""
    return 1.0 if seconds is None else min(1.0, max(0.02, seconds * GRACE))
