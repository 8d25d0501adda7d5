"""From a framework call to a dispatched one, and back to what the framework expects of a tool's body."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from langchain_core.tools import BaseTool
from langchain_core.tools.base import _get_runnable_config_param
from pydantic import ValidationError
from pydantic.v1 import ValidationError as ValidationErrorV1

from ax_core import AXError, Effect, Tool, keys
from ax_core.dispatch import Answer, Call
from ax_core.schema import Invalid, Problem

from ..bridge import Binding
from .identity import Identity, identify
from .pending import Pending, current_pending, dispatching

_DECLARED = frozenset({Effect.IDEMPOTENT, Effect.KEYED, Effect.TRANSACTIONAL, Effect.UNSAFE})


def dispatch(binding: Binding, tool: Any, base: type[BaseTool], args: tuple[Any, ...], kw: dict[str, Any]) -> Any:
    """What ``_run`` does instead of running: submit, and wait for the result."""
    pending, identity, call = _prepared(binding, tool, args, kw, _body(tool, base._run, args, kw), False)
    try:
        answer = binding.ax.dispatch(call, pauses())
    except AXError as verdict:
        pending.verdict = verdict
        raise
    return _delivered(answer, pending, identity)


async def adispatch(
    binding: Binding, tool: Any, base: type[BaseTool], args: tuple[Any, ...], kw: dict[str, Any]
) -> Any:
    """:func:`dispatch` for ``_arun``: the body runs on this loop, in this context."""
    pending, identity, call = _prepared(binding, tool, args, kw, _abody(tool, base._arun, args, kw), True)
    try:
        answer = await binding.ax.adispatch(call, pauses())
    except AXError as verdict:
        pending.verdict = verdict
        raise
    return _delivered(answer, pending, identity)


def pauses() -> tuple[type[BaseException], ...]:
    """What LangGraph raises to pause or to leave a node: never a failure of the tool."""
    errors = sys.modules.get("langgraph.errors")
    return (errors.GraphBubbleUp,) if errors is not None else ()


def registered(binding: Binding, tool: BaseTool) -> Tool[..., Any]:
    """The tool's record in AX; made at wrapping, and again where the tool was renamed since."""
    known = binding.ax.tools.find(tool.name)
    return known if known is not None else register(binding, tool)


def register(binding: Binding, tool: BaseTool) -> Tool[..., Any]:
    """Make a framework tool known to AX.

    Raises:
        PolicyError: the name stands for another schema or policy.
    """
    return binding.ax.add(
        Tool(
            name=tool.name,
            description=tool.description,
            schema=visible_schema(tool),
            policy=binding.policy,
            fn=_elsewhere,
            validated_elsewhere=True,
        )
    )


def visible_schema(tool: BaseTool) -> dict[str, Any]:
    """The JSON Schema that the model sees of a tool."""
    shown = tool.tool_call_schema
    if isinstance(shown, dict):
        return shown
    schema: dict[str, Any] = shown.model_json_schema() if hasattr(shown, "model_json_schema") else shown.schema()
    return schema


def refuse_unknown(binding: Binding, pending: Pending, asynchronous: bool = False) -> Any:
    """The schema gate for declared tools: an argument that the tool does not have is not silently dropped."""
    problem = _unknown(binding, pending)
    if problem is None:
        return _nothing() if asynchronous else None
    return _refuse(binding, pending, problem, asynchronous)


def report_problem(binding: Binding, pending: Pending, error: Exception, asynchronous: bool = False) -> Any:
    """Put on record that the framework refused the arguments; what it raises or answers stays its own."""
    if pending.entered or not isinstance(error, ValidationError | ValidationErrorV1):
        return _nothing() if asynchronous else None
    problems = tuple(
        Problem(
            path=".".join(str(part) for part in item["loc"]),
            kind="missing" if "missing" in str(item["type"]) else "value",
            message=f"{'.'.join(str(part) for part in item['loc'])}: {item['msg']}",
        )
        for item in error.errors()[:12]
    )
    return _record(binding, pending, Invalid(problems), asynchronous)


def _unknown(binding: Binding, pending: Pending) -> Invalid | None:
    if binding.policy.effect not in _DECLARED or not isinstance(pending.raw, dict):
        return None
    schema = registered(binding, pending.tool).schema
    names = schema.get("properties", {})
    if schema.get("additionalProperties") or not names:
        return None
    from ax_core.schema.names import nearest

    hidden = _injected(pending.tool) | set(pending.tool.get_input_schema().model_fields)
    aliases = {f.alias for f in pending.tool.get_input_schema().model_fields.values() if f.alias}
    unknown = [n for n in pending.raw if n not in names and n not in hidden and n not in aliases]
    if not unknown:
        return None
    found = []
    for name in unknown:
        near = nearest(name, [n for n in names if n not in pending.raw])
        hint = f"; did you mean {near!r}?" if near else ""
        found.append(Problem(name, "unexpected", f"unexpected argument {name!r}{hint}", suggestion=near))
    return Invalid(tuple(found), accepts=tuple(names))


def _refuse(binding: Binding, pending: Pending, problem: Invalid, asynchronous: bool) -> Any:
    call, _ = _problem_call(binding, pending, problem)
    if asynchronous:
        return _arefuse(binding, pending, call)
    try:
        return binding.ax.dispatch(call)
    except AXError as verdict:
        pending.verdict = verdict
        raise


async def _arefuse(binding: Binding, pending: Pending, call: Call) -> Any:
    try:
        return await binding.ax.adispatch(call)
    except AXError as verdict:
        pending.verdict = verdict
        raise


def _record(binding: Binding, pending: Pending, problem: Invalid, asynchronous: bool) -> Any:
    call, _ = _problem_call(binding, pending, problem)
    if asynchronous:
        return _arecord(binding, call)
    try:
        binding.ax.dispatch(call)
    except AXError:
        pass  # it is on record; the framework's own answer goes to the model
    return None


async def _arecord(binding: Binding, call: Call) -> None:
    try:
        await binding.ax.adispatch(call)
    except AXError:
        pass


def _problem_call(binding: Binding, pending: Pending, problem: Invalid) -> tuple[Call, Identity]:
    payload = _visible(pending.tool, pending.raw)
    record = registered(binding, pending.tool)
    identity = identify(binding.ax.namespace, record.name, None, "", pending.config)
    call = Call(
        record, payload, problem=problem, run_id=identity.run_id, session=identity.session, address=identity.address
    )
    return call, identity


def _prepared(
    binding: Binding, tool: Any, args: tuple[Any, ...], kw: dict[str, Any], body: Any, is_async: bool
) -> tuple[Pending, Identity, Call]:
    pending = current_pending.get()
    if pending is None or pending.tool is not tool:
        # Somebody called _run itself: there is no id and no config to go by.
        pending = Pending(tool, kw if kw else (args[0] if args else {}), None, {})
    pending.entered = True
    record = registered(binding, tool)
    payload = _visible(tool, pending.raw)
    identity = identify(
        binding.ax.namespace, record.name, pending.tool_call_id, _hash_of(payload), pending.config
    )
    call = Call(
        record,
        payload,
        body=body,
        body_is_async=is_async,
        request_id=identity.request_id,
        run_id=identity.run_id,
        session=identity.session,
        address=identity.address,
    )
    return pending, identity, call


def _delivered(answer: Answer, pending: Pending, identity: Identity) -> Any:
    pending.note = answer.note
    if answer.failure is None:
        identity.delivered()
        return answer.value
    if answer.live and answer.failure.__cause__ is not None:
        raise answer.failure.__cause__
    pending.verdict = answer.failure
    raise answer.failure


def _body(
    tool: Any, run: Callable[..., Any], args: tuple[Any, ...], kw: dict[str, Any]
) -> Callable[[dict[str, Any]], Any]:
    pending = current_pending.get()
    shown = _visible(tool, pending.raw) if pending is not None else None

    def body(admitted: dict[str, Any]) -> Any:
        token = dispatching.set((*dispatching.get(), id(tool)))
        try:
            a, k = (args, kw) if admitted == shown or shown is None else _edited(tool, admitted, kw, pending)
            return run(tool, *a, **k)
        finally:
            dispatching.reset(token)

    return body


def _abody(
    tool: Any, run: Callable[..., Any], args: tuple[Any, ...], kw: dict[str, Any]
) -> Callable[[dict[str, Any]], Any]:
    pending = current_pending.get()
    shown = _visible(tool, pending.raw) if pending is not None else None

    async def body(admitted: dict[str, Any]) -> Any:
        token = dispatching.set((*dispatching.get(), id(tool)))
        try:
            a, k = (args, kw) if admitted == shown or shown is None else _edited(tool, admitted, kw, pending)
            return await run(tool, *a, **k)
        finally:
            dispatching.reset(token)

    return body


def _edited(tool: Any, admitted: dict[str, Any], kw: dict[str, Any], pending: Pending | None) -> Any:
    """The framework's own reading of arguments that a person changed, with the injected ones as they were."""
    raw = pending.raw if pending is not None and isinstance(pending.raw, dict) else {}
    injected = {name: value for name, value in raw.items() if name in _injected(tool)}
    call_id = pending.tool_call_id if pending is not None else None
    args, made = tool._to_args_and_kwargs({**injected, **admitted}, call_id)
    extra = {name: kw[name] for name in ("run_manager", _get_runnable_config_param(tool._run)) if name and name in kw}
    return args, {**made, **extra}


def _visible(tool: Any, raw: Any) -> Any:
    """The model-visible arguments: what was injected is neither stored nor hashed nor shown."""
    if not isinstance(raw, dict):
        return raw if isinstance(raw, str) else {}
    hidden = _injected(tool)
    return {name: value for name, value in raw.items() if name not in hidden}


def _injected(tool: Any) -> set[str]:
    """Names that the framework fills in: those it marks, and those that the model's schema leaves out."""
    names = set(getattr(tool, "_injected_args_keys", ()))
    full = tool.get_input_schema()
    if hasattr(full, "model_fields"):
        shown = tool.tool_call_schema
        if hasattr(shown, "model_fields"):
            names |= set(full.model_fields) - set(shown.model_fields)
    return names


def _hash_of(payload: Any) -> str:
    try:
        return keys.args_hash(keys.plain(payload))
    except keys.NotCanonical:
        return "?"


def _elsewhere(*_: Any, **__: Any) -> Any:
    raise RuntimeError("this tool runs in the framework call that wraps it")


async def _nothing() -> None:
    return None
