"""Confirmation where LangGraph can pause: the task is on record first, then the graph is interrupted.

The row is the truth. A resume value is one more way to decide, through the same verbs as any other; a task that was
decided elsewhere is not asked about again, but takes the resume value that was meant for it. One execution of a node
shows one question, whichever of its calls come to ask; its answer is applied to the task that it was about by
whichever call comes first in the next one.
"""

from __future__ import annotations

from typing import Any

from ax_core import AXError, PolicyError, State, Task, UnknownTask

from ..bridge import Responded, Wants, deciding
from .answers import named, understood
from .node import Node
from .pending import Pending
from .question import question
from .slots import BODY, CARD, NESTED, Slot, card, question_of, slots_of


def can_pause(pending: Pending) -> bool:
    """Whether an interrupt of this call can be resumed: it runs in a graph that has a checkpointer."""
    conf = pending.config.get("configurable") or {}
    return conf.get("__pregel_checkpointer") is not None and conf.get("__pregel_scratchpad") is not None


class Confirming:
    """The questions of a node, as one of its calls puts and answers them."""

    def __init__(self, pending: Pending, request_id: str) -> None:
        self._pending, self._request_id = pending, request_id
        self._node = Node(pending.config)

    @property
    def resumed(self) -> bool:
        """Whether the graph was resumed with values."""
        return self._node.resumed

    def settle(self) -> Wants[Responded | None]:
        """Apply what the graph was resumed with, whomever it is for; a person's words in the place of this call.

        Raises:
            ValidationError, PolicyError: an answer that is none; the question stands.
            AXError: this call's own answer cannot be carried out.
        """
        own: Task | None = yield "find_request", self._request_id
        own_id = own.id if own is not None else None
        said: Responded | None = None
        known = yield from self._slots()
        self._node.begin(known.get(self._node.next))
        for number in sorted(known):
            said = (yield from self._apply(number, own_id)) or said
        slots = yield from self._slots()
        mine = {number: slot for number, slot in slots.items() if slot.task_id == own_id}
        self._node.step_over([number for number, slot in mine.items() if slot.kind != NESTED])
        if slots:
            numbers = [n for n, slot in sorted(mine.items()) if slot.kind == BODY and n < self._node.next]
            self._pending.inside = self._node.seen_by_body(numbers, own_id)
        return said

    def ask(self, task_id: str) -> Wants[BaseException]:
        """What pauses the graph for a person: the question that this execution of the node shows.

        The payload has the shape of LangChain's own per-call approval requests, so that their front ends show it.
        """
        task: Task = yield "get", task_id
        asked = self._question(task, self._pending.tool_call_id)
        return (yield from self._show(card(task), asked))

    def paused(self, pause: BaseException) -> Wants[BaseException]:
        """:meth:`ask`, where the tool's own body asks with ``pause``."""
        task: Task | None = yield "find_request", self._request_id
        if task is None or not pause.args or not pause.args[0]:
            return pause
        ours = self._node.asks(None).args[0][0].id
        kind = BODY if pause.args[0][0].id == ours else NESTED
        return (yield from self._show(Slot(task.id, kind), pause))

    def _show(self, slot: Slot, asked: BaseException) -> Wants[BaseException]:
        from langgraph.errors import GraphInterrupt

        node = self._node
        offered = node.here.offered
        mine = asked = offered.setdefault(slot, asked)  # before it is noted: who reads the note finds it
        while True:
            if node.here.refused is not None:
                return node.here.refused
            trail = yield "trail", node.trail
            number = node.next
            shown = slots_of(trail).get(number)
            if shown in offered:
                asked = offered[shown]
                break
            if shown is not None and shown.kind == CARD:
                task: Task = yield "get", shown.task_id
                if shown.open(task):  # another process shows it, or an earlier execution did
                    asked = offered.setdefault(shown, self._question(task, task.address.get("tool_call_id")))
                    break
            if shown is not None and shown.answered:
                break  # the answer was lost, or this execution is out of date: nothing new is bound to the number
            if (yield "mark", node.trail, len(trail), slot.task_id, slot.marked(number)):
                break
        node.save()
        return asked if asked is mine else GraphInterrupt(*asked.args)

    def _apply(self, number: int, own_id: str | None) -> Wants[Responded | None]:
        node = self._node
        while (value := node.value(number)) is not None:
            trail = yield "trail", node.trail
            slot = slots_of(trail)[number]
            if slot.kind == NESTED:
                return None
            task: Task = yield "get", slot.task_id
            if not slot.answered and slot.kind == CARD and named(value) not in (None, task.id):
                meant = yield from self._waiting_here(named(value))
                slot, task = (slot, task) if meant is None else (card(meant), meant)
            if not self._taken(number, slot, task, value):
                return None
            if not slot.answered:
                bound = Slot(slot.task_id, slot.kind, slot.question, True)
                if not (yield "mark", node.trail, len(trail), bound.task_id, bound.marked(number)):
                    continue
            return None if slot.kind == BODY else (yield from self._decide(slot, task, value, own_id))
        return None

    def _taken(self, number: int, slot: Slot, task: Task, value: Any) -> bool:
        """Put a value in its place, unless it is no answer to an open question."""
        node = self._node
        if slot.kind == BODY:
            return node.keep(number)
        if slot.answered or not slot.open(task):
            return node.take(number, None)
        try:
            if not node.take(number, task):
                return False
            understood(value, task, "")  # older releases of LangGraph check nothing
        except Exception as error:
            node.here.refused = error
            raise
        return True

    def _decide(self, slot: Slot, task: Task, value: Any, own_id: str | None) -> Wants[Responded | None]:
        try:
            said = understood(value, task, f"langgraph:{self._node.thread}")
        except PolicyError:  # decided elsewhere, and whatever woke the graph decides nothing
            return None
        if slot.open(task):
            try:
                yield deciding(task, said)
            except AXError:
                if task.id == own_id:
                    raise
        if said.kind != "respond" or task.id != own_id:
            return None
        decided = (yield "get", task.id).approval or {}
        ours = (decided.get("by"), decided.get("reason")) == (said.by, said.message)
        return Responded(said.message or "") if ours and question_of(task) == slot.question else None

    def _waiting_here(self, task_id: str | None) -> Wants[Task | None]:
        try:
            task: Task = yield "get", task_id
        except UnknownTask:
            return None
        at = (task.address.get("thread_id"), task.address.get("checkpoint_ns"))
        here = (str(self._node.thread), self._node.place)
        return task if task.state is State.CONFIRMING and at == here else None

    def _slots(self) -> Wants[dict[int, Slot]]:
        return slots_of((yield "trail", self._node.trail))

    def _question(self, task: Task, tool_call_id: str | None) -> BaseException:
        return self._node.asks(question(task, tool_call_id), task)
