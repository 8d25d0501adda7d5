"""From a framework call to a dispatched one, and back to what the framework expects of a tool's body."""

from __future__ import annotations

import sys
from contextlib import suppress
from typing import Any

from langchain_core.tools import BaseTool

from ax_core import AXError, ConfirmationPending, PolicyError, ToolFailed
from ax_core.dispatch import Answer, Call, current_run
from ax_core.schema import Invalid

from ..bridge import Binding, Identity, Responded, Wants, aperform, perform
from .arguments import problem_call
from .bodies import abody_of, body_of
from .confirming import Confirming, can_pause
from .identity import identify
from .pending import Pending, current_pending
from .registering import registered
from .results import ErrorAnswer, Handover, replayed
from .sync_bridge import async_only, for_async


def dispatch(
    binding: Binding, tool: Any, base: type[BaseTool], args: tuple[Any, ...], kw: dict[str, Any]
) -> Any:
    """What ``_run`` does instead of running: submit, and wait for the result."""
    pending = _pending(tool, args, kw)
    if binding.sync_bridge and async_only(tool, base):
        body, is_async = (
            abody_of(binding, pending, base._arun, args, for_async(base, kw, pending.config)),
            True,
        )
    else:
        body, is_async = body_of(binding, pending, base._run, args, kw), False
    identity, call = prepared(binding, pending, body, is_async)
    try:
        return _delivered(perform(see_through(binding, pending, call), binding.ax), pending, identity)
    finally:
        identity.left()


async def adispatch(
    binding: Binding, tool: Any, base: type[BaseTool], args: tuple[Any, ...], kw: dict[str, Any]
) -> Any:
    """:func:`dispatch` for ``_arun``: the body runs on this loop, in this context."""
    pending = _pending(tool, args, kw)
    identity, call = prepared(binding, pending, abody_of(binding, pending, base._arun, args, kw), True)
    try:
        answer = await aperform(see_through(binding, pending, call), binding.ax)
        return _delivered(answer, pending, identity)
    finally:
        identity.left()


def see_through(binding: Binding, pending: Pending, call: Call) -> Wants[Answer | Responded]:
    """Carry a call out, pausing the graph where a person must decide or the tool itself asks.

    Raises:
        AXError: a verdict; ``pending.verdict`` is it.
    """
    try:
        if call.request_id is None or not can_pause(pending):
            answer: Answer = yield "dispatch", call, pauses()
            return answer
        here = Confirming(pending, call.request_id)
        if here.resumed and (said := (yield from here.settle())) is not None:
            return said
        try:
            answer = yield "dispatch", call, pauses()
            return answer
        except ConfirmationPending as waiting:
            if not binding.policy.confirm or waiting.task_id is None:
                raise
            raise (yield from here.ask(waiting.task_id)) from None
        except questions() as pause:
            raise (yield from here.paused(pause))  # noqa: B904
    except PolicyError:  # the host's mistake, not something to tell a model
        raise
    except AXError as verdict:
        pending.verdict = verdict
        raise


def refuse(binding: Binding, pending: Pending, problem: Invalid) -> None:
    """Put arguments that do not fit on record, and raise the verdict."""
    try:
        binding.ax.dispatch(problem_call(binding, pending, problem))
    except AXError as verdict:
        pending.verdict = verdict
        raise


async def arefuse(binding: Binding, pending: Pending, problem: Invalid) -> None:
    """:func:`refuse` on an event loop."""
    try:
        await binding.ax.adispatch(problem_call(binding, pending, problem))
    except AXError as verdict:
        pending.verdict = verdict
        raise


def put_on_record(binding: Binding, pending: Pending, problem: Invalid) -> None:
    """Put on record what the framework refused; its own answer goes to the model."""
    with suppress(AXError):
        binding.ax.dispatch(problem_call(binding, pending, problem))


async def aput_on_record(binding: Binding, pending: Pending, problem: Invalid) -> None:
    """:func:`put_on_record` on an event loop."""
    with suppress(AXError):
        await binding.ax.adispatch(problem_call(binding, pending, problem))


def pauses() -> tuple[type[BaseException], ...]:
    """What LangGraph raises to pause or to leave a node: never a failure of the tool."""
    errors = sys.modules.get("langgraph.errors")
    return (errors.GraphBubbleUp,) if errors is not None else ()


def questions() -> tuple[type[BaseException], ...]:
    """What LangGraph raises where a tool's body asks something."""
    errors = sys.modules.get("langgraph.errors")
    return (errors.GraphInterrupt,) if errors is not None else ()


def _pending(tool: Any, args: tuple[Any, ...], kw: dict[str, Any]) -> Pending:
    pending = current_pending.get()
    if pending is None or pending.tool is not tool:
        # Somebody called _run itself: there is no id and no config to go by.
        pending = Pending(tool, kw if kw else (args[0] if args else {}), None, {})
    pending.entered = True
    return pending


def prepared(binding: Binding, pending: Pending, body: Any, is_async: bool) -> tuple[Identity, Call]:
    record = registered(binding, pending.tool)
    identity = identify(
        binding.ax.namespace, record.name, pending.tool_call_id, pending.plain, pending.config, begins=True
    )
    enclosing = current_run.get()
    pending.run_id = enclosing.id if enclosing is not None else identity.run_id
    call = Call(
        record,
        pending.shown if pending.plain is None else pending.plain,
        body=body,
        body_is_async=is_async,
        portable=pending.plain is not None and not pending.injected,
        request_id=identity.request_id,
        run_id=identity.run_id,
        session=identity.session,
        address=identity.address,
    )
    return identity, call


def _delivered(answer: Answer | Responded, pending: Pending, identity: Identity) -> Any:
    if isinstance(answer, Responded):
        return answer.message
    pending.note = answer.note
    if answer.failure is None:
        identity.delivered()
        value = answer.value if answer.live else replayed(answer.value, pending.tool, pending.tool_call_id)
        if isinstance(value, Handover):
            raise value.raised()
        return value
    failed = told_failure(answer.failure, answer.live or answer.how == "new", pending)
    if isinstance(failed, ErrorAnswer):
        return failed.message
    raise failed


def told_failure(failure: ToolFailed, live: bool, pending: Pending) -> BaseException:
    """What to raise for a failure: the tool's own exception where this call saw it, else AX's account of it."""
    if live and failure.__cause__ is not None:
        return failure.__cause__
    pending.verdict = failure
    return failure
