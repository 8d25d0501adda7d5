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

from .step import Step

SCOPE = "ax_scope"
TURN = "ax_turn"
WAIT = 1.0
"""Seconds that a call on a thread waits for what its event loop is about to know."""

log = logging.getLogger("ax")
_ids = SystemClock()
_known: WeakKeyDictionary[Any, Future[Place | None]] = WeakKeyDictionary()
"""By the store of a run of a workflow: each run has one of its own."""
_strong: set[asyncio.Task[None]] = set()


@dataclass(frozen=True, slots=True)
class Place:
    """A conversation, and the turn of it."""

    scope: str
    turn: str


def lay_down(step: Step) -> Future[Place | None]:
    """See to it that the conversation has its name soon; must be called on its event loop."""
    store = step.ctx.store
    known = _known.get(store)
    if known is None:
        known = _known[store] = Future()
        task = asyncio.get_running_loop().create_task(_lay(step, known))
        _strong.add(task)
        task.add_done_callback(_strong.discard)
    return known


async def place_of(step: Step) -> Place | None:
    """Where a call in this step stands; None where the workflow's store takes nothing."""
    laid = lay_down(step)
    if not laid.done():
        await asyncio.shield(asyncio.wrap_future(laid))
    return laid.result()


def known_place(step: Step) -> Place | None:
    """:func:`place_of` for code that cannot await; None also where the event loop has not come round to it."""
    laid = _known.get(step.ctx.store)
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


async def _lay(step: Step, laid: Future[Place | None]) -> None:
    place = None
    try:
        store = step.ctx.store
        scope = await store.get(SCOPE, default=None)
        if not scope:
            scope = _ids.new_id()
            await store.set(SCOPE, scope)
        place = Place(str(scope), await _turn(step, str(scope)))
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


async def _turn(step: Step, scope: str) -> str:
    """The turn, by the piece of work in which its agent first looked at its tools: the same when that is resumed.

    An agent counts its rounds from 0 in each turn, so a look before the first is of another turn, unless it is the
    same piece of work again.
    """
    store = step.ctx.store
    known = await store.get(TURN, default=None)
    said = str(await store.get("user_msg_str", default=""))
    first = await store.get("num_iterations", default=None) == 0 and step.item is not None
    if not known or known.get("said") != said or (first and known.get("item") != step.item):
        known = {"item": step.item or "", "said": said}
        await store.set(TURN, known)
    return keys.idempotency_key("turn", scope, known["item"], said)
