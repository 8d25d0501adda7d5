"""From a framework call to a dispatched one, and back to the output that LlamaIndex expects of a tool."""

from __future__ import annotations

from typing import Any

from llama_index.core.tools import ToolOutput

from ax_core import AXError, BudgetExceeded, ConfirmationPending, PolicyError
from ax_core.dispatch import Answer, Call, current_run
from ax_core.schema import Invalid

from ..bridge import Binding, Identity, Responded, refusals
from .arguments import args_hash, checked
from .asking import Question, wait_of
from .bodies import async_body, sync_body
from .identity import identify
from .pending import Pending
from .place import Place, known_place, place_of
from .registering import registered
from .results import ErrorAnswer, as_output, noted, refusal
from .step import Step, pauses
from .waking import Waking


def dispatch(binding: Binding, pending: Pending, base: type | None, door: str = "call") -> Any:
    """What ``call`` does instead of running: submit, and wait for the result.

    Args:
        base: the class whose body runs; None: the function that is registered in AX.
    """
    place = None if pending.step is None else known_place(pending.step)
    args = _args(binding, pending, base)
    if isinstance(args, Invalid):
        call, identity = _refused(binding, pending, args, place), Identity()
    else:
        body = None if base is None else sync_body(pending, base, door, args)
        call, identity = _prepared(binding, pending, args, place, body, False)
    try:
        answer = binding.ax.dispatch(call, pauses())
    except PolicyError:  # the host's mistake, not something to tell a model
        raise
    except AXError as verdict:
        return _told(binding, pending, verdict, None)
    return _delivered(answer, pending, identity)


async def adispatch(binding: Binding, pending: Pending, base: type | None) -> Any:
    """:func:`dispatch` for ``acall``: nothing here blocks the loop."""
    step = pending.step
    place = None if step is None else await place_of(step)
    args = _args(binding, pending, base)
    if isinstance(args, Invalid):
        call, identity = _refused(binding, pending, args, place), Identity()
    else:
        body, is_async = (None, False) if base is None else async_body(pending, base, binding.policy, args)
        call, identity = _prepared(binding, pending, args, place, body, is_async)
    try:
        answer = await _see_through(binding, call, step)
    except PolicyError:
        raise
    except AXError as verdict:
        return _told(
            binding, pending, verdict, await _round(step) if isinstance(verdict, BudgetExceeded) else None
        )
    return _delivered(answer, pending, identity)


async def _see_through(binding: Binding, call: Call, step: Step | None) -> Answer | Responded:
    """Carry a call out, pausing its step where a person must decide.

    Raises:
        AXError: a verdict.
        WaitingForEvent: the step pauses.
    """
    request = call.request_id
    if step is None or not step.can_pause or request is None:
        return await binding.ax.adispatch(call, pauses())
    binding.ax.extension(Waking).awake(request)
    try:
        answer = await _decided(binding, call, step, request)
    except AXError:
        step.forget(wait_of(request))
        raise
    step.forget(wait_of(request))
    return answer


async def _decided(binding: Binding, call: Call, step: Step, request: str) -> Answer | Responded:
    ax, heard = binding.ax, False
    while True:
        try:
            return await ax.adispatch(call, pauses())
        except ConfirmationPending as waiting:
            question = Question(ax, await ax.aget(waiting.task_id or ""), request, step)
        if heard:
            question.again("it is not decided yet")
        try:
            said = await question.answered()
        except TimeoutError:
            return await ax.adispatch(
                call, pauses()
            )  # the question has lapsed: the record says what that means
        heard = True
        if said is not None and await question.decide(said):
            return Responded(said.message or "")


def _args(binding: Binding, pending: Pending, base: type | None) -> dict[str, Any] | Invalid:
    return (
        pending.shown if base is None else checked(binding, pending)
    )  # a registered function has the core's own gate


def _prepared(
    binding: Binding, pending: Pending, args: dict[str, Any], place: Place | None, body: Any, is_async: bool
) -> tuple[Call, Identity]:
    record = registered(binding, pending.tool)
    identity = identify(record.name, args_hash(args), pending.step, place)
    enclosing = current_run.get()
    pending.run_id = enclosing.id if enclosing is not None else identity.run_id
    call = Call(
        record,
        args,
        body=body,
        body_is_async=is_async,
        portable=pending.portable,
        request_id=identity.request_id,
        run_id=identity.run_id,
        session=identity.session,
        address=identity.address,
    )
    return call, identity


def _refused(binding: Binding, pending: Pending, problem: Invalid, place: Place | None) -> Call:
    """The call that only puts a problem on record; its verdict is InvalidArguments."""
    record = registered(binding, pending.tool)
    identity = identify(record.name, "", pending.step, place)
    return Call(
        record,
        pending.shown,
        problem=problem,
        run_id=identity.run_id,
        session=identity.session,
        address=identity.address,
    )


def _delivered(answer: Answer | Responded, pending: Pending, identity: Identity) -> Any:
    if isinstance(answer, Responded):
        return as_output(answer.message, pending)
    if answer.failure is None:
        identity.delivered()
        live = answer.live and isinstance(answer.value, ToolOutput)
        return noted(answer.value if live else as_output(answer.value, pending), answer.note)
    cause = answer.failure.__cause__
    if not (answer.live or answer.how == "new") or cause is None:
        return refusal(answer.failure.for_model, answer.failure, pending)
    if isinstance(cause, ErrorAnswer):
        return noted(cause.output, answer.note)
    raise cause


def _told(binding: Binding, pending: Pending, verdict: AXError, step: Any) -> ToolOutput:
    """The verdict as an answer to the model.

    Raises:
        AXError: it, where that is asked for or where a host must hear it.
    """
    if refusals.must_raise(verdict, pending.run_id or "", step, binding.on_refusal):
        raise verdict
    return refusal(verdict.for_model, verdict, pending)


async def _round(step: Step | None) -> Any:
    """Which message of the model asked; None where that is not known."""
    return None if step is None else await step.ctx.store.get("num_iterations", default=None)
