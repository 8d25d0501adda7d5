"""Running a tool's own body: where it would run without AX, unless nobody could then tell when it has ended."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from functools import cache
from typing import Any

from llama_index.core.tools import FunctionTool
from llama_index.core.tools.function_tool import sync_to_async
from llama_index_instrumentation import get_dispatcher

from ax_core import Effect, Policy

from ..bridge import Entered
from .pending import Pending
from .results import judged

Body = Callable[[dict[str, Any]], Any]

_ADAPTED = sync_to_async(lambda: None).__code__


def sync_body(pending: Pending, base: type, door: str, submitted: dict[str, Any]) -> Body:
    """The body of a call that came in by ``door``, as a function."""
    run = getattr(base, door)

    def body(admitted: dict[str, Any]) -> Any:
        return _inside(pending, run, submitted, admitted)

    return body


def async_body(pending: Pending, base: type, policy: Policy, submitted: dict[str, Any]) -> tuple[Body, bool]:
    """The body of an ``acall``, and whether it is a coroutine function."""
    tool = pending.tool
    if policy.effect is Effect.TRANSACTIONAL or (_is_sync(tool, base) and not _awaits_its_callback(tool)):
        # A function runs on a thread of AX's: its end is seen also when nobody waits for it any more.
        run = _as_acall(base)
        return lambda admitted: _inside(pending, run, submitted, admitted), False
    outlives = _is_sync(tool, base)

    async def body(admitted: dict[str, Any]) -> Any:
        with Entered(tool):
            args, kwargs = _arguments(pending, submitted, admitted)
            work = base.acall(tool, *args, **kwargs)  # type: ignore[attr-defined]
            return judged(await (_to_its_end(work) if outlives else work))

    return body, True


def only_async(tool: Any) -> bool:
    """Whether a function tool has no plain function."""
    return isinstance(tool, FunctionTool) and asyncio.iscoroutinefunction(tool.real_fn)


def _inside(pending: Pending, run: Any, submitted: dict[str, Any], admitted: dict[str, Any]) -> Any:
    tool = pending.tool
    with Entered(tool):
        args, kwargs = _arguments(pending, submitted, admitted)
        return judged(run(tool, *args, **kwargs))


def _arguments(
    pending: Pending, submitted: dict[str, Any], admitted: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """As they came, unless the gate or a person changed them."""
    plain = pending.plain
    if plain is None:
        return pending.args, pending.kwargs
    coerced = any(name not in submitted or not _same(submitted[name], value) for name, value in plain.items())
    if admitted == submitted and not coerced:
        return pending.args, pending.kwargs
    return pending.changed(submitted, admitted)


def _same(one: Any, other: Any) -> bool:
    """Whether two values are the same JSON: 1, 1.0 and True are not."""
    return one is other or json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


def _is_sync(tool: Any, base: type) -> bool:
    """Whether ``acall`` is LlamaIndex's own, around a plain function that it hands to a thread pool."""
    if not issubclass(base, FunctionTool) or getattr(tool.async_fn, "__code__", None) is not _ADAPTED:
        return False
    return _plain(base.acall) is _plain(FunctionTool.acall) and _plain(base.call) is _plain(FunctionTool.call)


def _awaits_its_callback(tool: Any) -> bool:
    callback = tool._async_callback
    return callback is not None and getattr(callback, "__code__", None) is not _ADAPTED


@cache
def _as_acall(base: type) -> Any:
    """``call`` under the name of ``acall``, so that traces show what they show without AX."""
    run = _plain(base.call)  # type: ignore[attr-defined]

    def acall(self: Any, *args: Any, **kwargs: Any) -> Any:
        return run(self, *args, **kwargs)

    spanned: Any = get_dispatcher(base.__module__).span(acall)
    return lambda tool, *args, **kwargs: spanned.__get__(tool, type(tool))(*args, **kwargs)


def _plain(method: Any) -> Any:
    return getattr(method, "__wrapped__", method)


async def _to_its_end(work: Any) -> Any:
    """Await what goes on in a thread though its waiter is cancelled: it has not ended before the thread has."""
    task = asyncio.ensure_future(work)
    while not task.done():
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError:
            continue
        except Exception:
            break
    return task.result()
