"""Where a call stands in its conversation, kept in the workflow's own store: so a resumed context still knows.

``ax_scope`` names the conversation. It is laid down when an agent first looks at a wrapped tool, which is before its
model can have decided anything; set it yourself on a new context to name it.
"""

from __future__ import annotations

import asyncio
import logging
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

from ax_core import keys
from ax_core.clock import SystemClock

SCOPE = "ax_scope"
WAIT = 1.0
"""Seconds that a call on a thread waits for what its event loop is about to know."""

log = logging.getLogger("ax")
_ids = SystemClock()
_known: WeakKeyDictionary[Any, Future[Place | None]] = WeakKeyDictionary()
"""By the store of a run of a workflow: each run has one of its own."""
_strong: set[asyncio.Task[None]] = set()


@dataclass(frozen=True, slots=True)
class Place:
    """A conversation, and the turn of it: what the user said last."""

    scope: str
    turn: str


def lay_down(ctx: Any) -> Future[Place | None]:
    """See to it that the conversation has its name soon; must be called on its event loop."""
    store = ctx.store
    known = _known.get(store)
    if known is None:
        known = _known[store] = Future()
        task = asyncio.get_running_loop().create_task(_lay(store, known))
        _strong.add(task)
        task.add_done_callback(_strong.discard)
    return known


async def place_of(ctx: Any) -> Place | None:
    """Where a call of this context stands; None where its store takes nothing."""
    laid = lay_down(ctx)
    if not laid.done():
        await asyncio.shield(asyncio.wrap_future(laid))
    return laid.result()


def known_place(ctx: Any) -> Place | None:
    """:func:`place_of` for code that cannot await; None also where the event loop has not come round to it."""
    laid = _known.get(ctx.store)
    if laid is None:
        return None
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        wait = WAIT
    else:
        wait = 0.0  # the loop that would lay it down is the one that stands here
    try:
        return laid.result(wait)
    except TimeoutError:
        return None


async def _lay(store: Any, laid: Future[Place | None]) -> None:
    place = None
    try:
        scope = await store.get(SCOPE, default=None)
        if not scope:
            scope = _ids.new_id()
            await store.set(SCOPE, scope)
        place = Place(str(scope), await _turn(store, str(scope)))
    except Exception as error:
        log.warning(
            "the state of this workflow takes no %r (%s: %s), so its tool calls cannot be recognised when it is "
            "resumed; give its state class such a field",
            SCOPE,
            type(error).__name__,
            error,
        )
    finally:
        laid.set_result(place)


async def _turn(store: Any, scope: str) -> str:
    """What the user said last, and how often something was said before: the same on resume, new in each turn."""
    memory = await store.get("memory", default=None)
    messages = await memory.aget_all() if hasattr(memory, "aget_all") else []
    spoken = sum(1 for message in messages if getattr(message.role, "value", message.role) == "user")
    said = await store.get("user_msg_str", default="")
    return keys.idempotency_key("turn", scope, str(spoken), str(said))
