"""The workflow step in which a tool is called, as far as LlamaIndex tells: whose call it is, and how to pause it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from llama_index.core.agent.workflow.workflow_events import ToolCall
from llama_index.core.workflow import Context, StartEvent

_runtime: Any
try:
    from workflows.runtime.types import results as _runtime
except ImportError:  # an older or newer runtime: calls are not told apart, and nothing can pause
    _runtime = None

_DeleteWaiter: Any = getattr(_runtime, "DeleteWaiter", None)
_worker: Any = getattr(_runtime, "StepWorkerStateContextVar", None)
_WaitingForEvent: Any = getattr(_runtime, "WaitingForEvent", None)


@dataclass(frozen=True, eq=False)
class Step:
    """One execution of one workflow step.

    Attributes:
        ctx: the context as the step sees it.
        worker: the runtime's own record of this execution; None where this runtime has none that is known.
    """

    ctx: Any
    worker: Any = None

    @property
    def tool_id(self) -> str | None:
        """The id that the model gave the call which this step carries out."""
        return _text(getattr(self.event, "tool_id", None))

    @property
    def tool_name(self) -> str | None:
        """The tool that the model asked for in it."""
        return _text(getattr(self.event, "tool_name", None))

    @property
    def item(self) -> str | None:
        """Which piece of work of its workflow this is: the same when it is resumed, and no other has it."""
        return _text(getattr(self._state, "work_item_id", None))

    @property
    def event(self) -> Any:
        """What set the step off."""
        return getattr(self.worker, "event", None)

    @property
    def of_agent(self) -> bool:
        """Whether it carries out a call that one of LlamaIndex's agents handed out."""
        return isinstance(self.event, ToolCall)

    @property
    def resumed(self) -> bool | None:
        """Whether this run of the workflow goes on from where another was saved; None: this runtime does not tell."""
        try:
            running = self.ctx._face._internal_adapter.init_state.is_running
        except Exception:  # nobody has promised these names
            return None
        return running if isinstance(running, bool) else None

    @property
    def begins(self) -> bool:
        """Whether the workflow has only just been started."""
        return isinstance(self.event, StartEvent)

    @property
    def can_pause(self) -> bool:
        """Whether the step can wait for an event and be executed again when that comes."""
        return None not in (self.worker, _WaitingForEvent, _DeleteWaiter)

    def wait(self, waiter_id: str) -> Any:
        """The wait of that id that was begun in an earlier execution of the step, if there is one."""
        found = getattr(self._state, "collected_waiters", ())
        return next((each for each in found if each.waiter_id == waiter_id), None)

    def waiting(self, waiter_id: str, kind: type, requirements: dict[str, Any]) -> BaseException:
        """What to raise to wait anew under that id, whether or not an event has come for it."""
        wait = _runtime.AddWaiter(waiter_id=waiter_id, event_type=kind, requirements=requirements)
        again: BaseException = _WaitingForEvent(wait)
        return again

    def forget(self, waiter_id: str) -> None:
        """Let a wait end with this step: what it waited for was decided."""
        if self.wait(waiter_id) is not None:
            self.worker.returns.return_values.append(_DeleteWaiter(waiter_id=waiter_id))

    @property
    def _state(self) -> Any:
        return getattr(self.worker, "state", None)


def current_step(given: Any = None) -> Step | None:
    """The step that this code runs in; ``given`` is the context it was handed, if it was."""
    try:
        ctx = Context.get_step_context()
    except Exception:  # not in a step, or a runtime that cannot tell
        ctx = given
    if ctx is None:
        return None
    worker = None if _worker is None else _worker.get(None)
    return Step(ctx, worker)


def pauses() -> tuple[type[BaseException], ...]:
    """What LlamaIndex raises to pause a step: never a failure of the tool."""
    return () if _WaitingForEvent is None else (_WaitingForEvent,)


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None
