"""From a framework call to a dispatched one, and back to what the framework expects of a tool's body."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from langchain_core.tools import BaseTool
from langchain_core.tools.base import _get_runnable_config_param

from ax_core import AXError, ConfirmationPending, PolicyError, ToolFailed
from ax_core.dispatch import Answer, Call, current_run
from ax_core.schema import Invalid

from ..bridge import Binding, Identity, Responded, adecide, decide
from .arguments import problem_call
from .confirming import answer_given, ask, can_pause, take_answer
from .identity import identify
from .pending import Pending, current_pending, dispatching
from .registering import registered
from .results import ErrorAnswer, judged, paired, replayed
from .sync_bridge import async_only, for_async


def dispatch(
    binding: Binding, tool: Any, base: type[BaseTool], args: tuple[Any, ...], kw: dict[str, Any]
) -> Any:
    """What ``_run`` does instead of running: submit, and wait for the result."""
    pending = _pending(tool, args, kw)
    if binding.sync_bridge and async_only(tool, base):
        body, is_async = _abody(binding, pending, base._arun, args, for_async(base, kw, pending.config)), True
    else:
        body, is_async = _body(binding, pending, base._run, args, kw), False
    identity, call = prepared(binding, pending, body, is_async)
    return _delivered(see_through(binding, pending, call), pending, identity)


async def adispatch(
    binding: Binding, tool: Any, base: type[BaseTool], args: tuple[Any, ...], kw: dict[str, Any]
) -> Any:
    """:func:`dispatch` for ``_arun``: the body runs on this loop, in this context."""
    pending = _pending(tool, args, kw)
    identity, call = prepared(binding, pending, _abody(binding, pending, base._arun, args, kw), True)
    return _delivered(await asee_through(binding, pending, call), pending, identity)


def see_through(binding: Binding, pending: Pending, call: Call) -> Answer | Responded:
    """Carry a call out, pausing the graph where a person must decide.

    Raises:
        AXError: a verdict; ``pending.verdict`` is it.
    """
    ax, asks = binding.ax, _pauses_for_people(binding, pending, call)
    try:
        if asks and answer_given(pending):
            take_answer(pending, ax.find_request(call.request_id or ""))
        while True:
            try:
                return ax.dispatch(call, pauses())
            except ConfirmationPending as waiting:
                if not asks or waiting.task_id is None:
                    raise
                task = ax.get(waiting.task_id)
                said = ask(pending, task)
                if decide(ax, task, said).done and said.kind == "respond":
                    return Responded(said.message or "")
    except PolicyError:  # the host's mistake, not something to tell a model
        raise
    except AXError as verdict:
        pending.verdict = verdict
        raise


async def asee_through(binding: Binding, pending: Pending, call: Call) -> Answer | Responded:
    """:func:`see_through` on an event loop."""
    ax, asks = binding.ax, _pauses_for_people(binding, pending, call)
    try:
        if asks and answer_given(pending):
            take_answer(pending, await ax.afind_request(call.request_id or ""))
        while True:
            try:
                return await ax.adispatch(call, pauses())
            except ConfirmationPending as waiting:
                if not asks or waiting.task_id is None:
                    raise
                task = await ax.aget(waiting.task_id)
                said = ask(pending, task)
                if (await adecide(ax, task, said)).done and said.kind == "respond":
                    return Responded(said.message or "")
    except PolicyError:
        raise
    except AXError as verdict:
        pending.verdict = verdict
        raise


def _pauses_for_people(binding: Binding, pending: Pending, call: Call) -> bool:
    return bool(binding.policy.confirm) and call.request_id is not None and can_pause(pending)


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
        binding.ax.namespace, record.name, pending.tool_call_id, pending.plain, pending.config
    )
    enclosing = current_run.get()
    pending.run_id = enclosing.id if enclosing is not None else identity.run_id
    call = Call(
        record,
        pending.shown if pending.plain is None else pending.plain,
        body=body,
        body_is_async=is_async,
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
        return answer.value if answer.live else replayed(answer.value, pending.tool, pending.tool_call_id)
    failed = told_failure(answer.failure, answer.live, pending)
    if isinstance(failed, ErrorAnswer):
        return failed.message
    raise failed


def told_failure(failure: ToolFailed, live: bool, pending: Pending) -> BaseException:
    """What to raise for a failure: the tool's own exception where this call saw it, else AX's account of it."""
    if live and failure.__cause__ is not None:
        return failure.__cause__
    pending.verdict = failure
    return failure


def _body(
    binding: Binding, pending: Pending, run: Callable[..., Any], args: tuple[Any, ...], kw: dict[str, Any]
) -> Callable[[dict[str, Any]], Any]:
    tool = pending.tool

    def body(admitted: dict[str, Any]) -> Any:
        token = dispatching.set((*dispatching.get(), id(tool)))
        try:
            a, k = _edited(tool, admitted, kw, pending) if pending.edited(admitted) else (args, kw)
            return paired(judged(run(tool, *a, **k)), tool, binding.ax)
        finally:
            dispatching.reset(token)

    return body


def _abody(
    binding: Binding, pending: Pending, run: Callable[..., Any], args: tuple[Any, ...], kw: dict[str, Any]
) -> Callable[[dict[str, Any]], Any]:
    tool = pending.tool

    async def body(admitted: dict[str, Any]) -> Any:
        token = dispatching.set((*dispatching.get(), id(tool)))
        try:
            a, k = _edited(tool, admitted, kw, pending) if pending.edited(admitted) else (args, kw)
            return paired(judged(await run(tool, *a, **k)), tool, binding.ax)
        finally:
            dispatching.reset(token)

    return body


def _edited(tool: Any, admitted: dict[str, Any], kw: dict[str, Any], pending: Pending) -> Any:
    """The framework's own reading of arguments that a person changed, with the injected ones as they were."""
    raw = pending.raw if isinstance(pending.raw, dict) else {}
    injected = {name: value for name, value in raw.items() if name in pending.injected}
    args, made = tool._to_args_and_kwargs({**injected, **admitted}, pending.tool_call_id)
    extra = {
        name: kw[name]
        for name in ("run_manager", _get_runnable_config_param(tool._run))
        if name and name in kw
    }
    return args, {**made, **extra}
