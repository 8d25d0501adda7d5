"""What each resume value of a node is for. LangGraph hands them out by number, to whichever call asks next.

So the trail of a node says what was asked under each number before it was shown, and whom the answer was taken for.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from ax_core import State, Task
from ax_core.app.trail import Mark
from ax_core.frozen import frozen

CARD, BODY, NESTED, ANSWERED = "card", "body", "nested", "answered"


@frozen()
class Slot:
    """One resume value of a node.

    Attributes:
        kind: ``card``: a person approves; ``body``: the tool's own interrupt; ``nested``: one in a graph that it runs.
        question: which of the questions about the task it is (a card).
        answered: the value came, and is bound to this task.
    """

    task_id: str
    kind: str
    question: str = ""
    answered: bool = False

    def marked(self, number: int) -> str:
        """It as a note on the trail."""
        return f"{ANSWERED if self.answered else self.kind} {number} {self.question}"

    def open(self, task: Task) -> bool:
        """Whether the task still waits for an answer to this very question."""
        return self.kind == CARD and task.state is State.CONFIRMING and question_of(task) == self.question


def card(task: Task) -> Slot:
    """The slot of the question that a task waits for."""
    return Slot(task.id, CARD, question_of(task))


def slots_of(trail: Iterable[Mark]) -> dict[int, Slot]:
    """The slots of a node: of each the question that was put last, and once it was answered, no later one."""
    found: dict[int, Slot] = {}
    for mark in trail:
        what, number, question = mark.what.split(" ", 2)
        known = found.get(int(number))
        if known is None or not known.answered:
            if what != ANSWERED:
                found[int(number)] = Slot(mark.task_id, what, question)
            elif known is not None:
                found[int(number)] = replace(known, task_id=mark.task_id, question=question, answered=True)
    return found


def question_of(task: Task) -> str:
    """Which question about a task is the newest: a task may be asked about again, after it was approved."""
    asked = (task.approval or {}).get("asked_at")
    return asked.isoformat() if asked else ""
