"""Where a call stands in its conversation, kept in the workflow's own store: so a resumed context still knows.

``ax_scope`` names the conversation. It is laid down when an agent first looks at a wrapped tool, which is before its
model can have decided anything; set it yourself on a new context to name it.
"""

from __future__ import annotations

import asyncio
import logging
import re
from concurrent.futures import Future
from dataclasses import dataclass
from itertools import pairwise
from typing import Any
from weakref import WeakKeyDictionary

from ax_core import keys
from ax_core.clock import SystemClock

from .step import Step

SCOPE = "ax_scope"
TURN = "ax_turn"
WAIT = 1.0
"""Seconds that a call on a thread waits for what its event loop is about to know."""

_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")

log = logging.getLogger("ax")
_ids = SystemClock()
_strong: set[asyncio.Task[None]] = set()


@dataclass(frozen=True, slots=True)
class Place:
    """A conversation, a turn of it, and in an agent's turn the message of the model that asks."""

    scope: str
    turn: str
    message: str | None


@dataclass(frozen=True, eq=False)
class _Laid:
    """What is known of one run of a workflow; None: its store takes nothing."""

    loop: asyncio.AbstractEventLoop
    known: Future[tuple[str, str] | None]


_laid: WeakKeyDictionary[Any, _Laid] = WeakKeyDictionary()
"""By the store of a run of a workflow: each run has one of its own."""


def lay_down(step: Step) -> _Laid:
    """See to it that the conversation has its name soon; must be called on its event loop."""
    store = step.ctx.store
    laid = _laid.get(store)
    if laid is None:
        loop = asyncio.get_running_loop()
        laid = _laid[store] = _Laid(loop, Future())
        task = loop.create_task(_lay(step, laid.known))
        _strong.add(task)
        task.add_done_callback(_strong.discard)
    return laid


async def place_of(step: Step) -> Place | None:
    """Where a call in this step stands; None where the workflow's store takes nothing."""
    known = lay_down(step).known
    if not known.done():
        await asyncio.shield(asyncio.wrap_future(known))
    named = known.result()
    return None if named is None else Place(*named, await _message(step))


def known_place(step: Step) -> Place | None:
    """:func:`place_of` for code that cannot await; None also where the event loop has not come round to it."""
    laid = _laid.get(step.ctx.store)
    if laid is None:
        return None
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        found = asyncio.run_coroutine_threadsafe(place_of(step), laid.loop)
        try:
            return found.result(WAIT)
        except TimeoutError:
            return None
    # The loop that would have to look stands here.
    named = laid.known.result() if laid.known.done() else None
    return None if named is None else Place(*named, None)


async def _lay(step: Step, known: Future[tuple[str, str] | None]) -> None:
    named = None
    try:
        store = step.ctx.store
        scope = await store.get(SCOPE, default=None)
        if not scope:
            scope = _ids.new_id()
            await store.set(SCOPE, scope)
        named = str(scope), await _turn(step, str(scope))
    except Exception as error:
        log.warning(
            "the state of this workflow takes no %r (%s: %s), so its tool calls cannot be recognised when it is "
            "resumed; give its state class such a field",
            SCOPE,
            type(error).__name__,
            error,
        )
    finally:
        known.set_result(named)


async def _turn(step: Step, scope: str) -> str:
    """The turn, by the piece of work in which its agent first looked at its tools: the same when that is resumed.

    A run of a workflow that goes on from where another was saved is in the same turn. Where the runtime does not tell,
    the agent's rounds do: it counts them from 0 in each turn, so a look before the first is of another turn, unless it
    is the same piece of work again.
    """
    store = step.ctx.store
    said = str(await store.get("user_msg_str", default=""))
    known = await store.get(TURN, default=None)
    if known and step.resumed is None:
        first = await store.get("num_iterations", default=None) == 0
        another = known.get("said") != said or (first and known.get("item") != step.item)
    else:
        another = not step.resumed
    if another or not known:
        known = {"item": step.item or "", "said": said}
        await store.set(TURN, known)
    return keys.idempotency_key("turn", scope, known["item"], said)


async def _message(step: Step) -> str | None:
    """Which message of the model a call of an agent is in.

    The number of its messages that something was answered to since, over all agents of the turn: not the piece of work,
    for a context that was saved in the middle of handing out calls hands them out once more. An id that is a UUID
    (agents without function calling make them) is in one message only.
    """
    if not step.of_agent or _UUID.fullmatch(step.tool_id or ""):
        return None
    store = step.ctx.store
    messages = await store.get("scratchpad", default=None) or []
    roles = ["", *map(_role, messages)]
    begun = sum(1 for before, role in pairwise(roles) if role == "assistant" != before)
    results = await store.get("current_tool_calls", default=None) or []
    handed = sum(1 for result in results if getattr(result, "tool_name", None) == "handoff")
    return f"{handed}.{begun}"


def _role(message: Any) -> str:
    role = getattr(message, "role", "")
    return str(getattr(role, "value", role))
