"""Several calls of one message need a person, in one ToolNode: each answer decides what its question was about."""

from __future__ import annotations

import random
import sqlite3
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.types import Command
from pydantic import ValidationError

from ax_adapters.langchain import wrap_tools
from ax_adapters.langchain.slots import Slot, slots_of
from ax_core import AX, PolicyError, State
from ax_core.app.trail import Mark
from support.desk import CONFIRM, Desk, Order, shown
from support.driving import Drive, node_of
from support.scripted import answers, asks, thread
from support.skew import Skew


class Till:
    """Payments ``1 … n`` in one message; each execution of their node is a new graph on a new AX."""

    def __init__(self, folder: Path, drive: Drive, n: int, saver: Any, rng: random.Random) -> None:
        self.paid: list[int] = []
        self._folder, self._drive, self._n, self._saver, self._rng = folder, drive, n, saver, rng

    def go(self, value: Any) -> Any:
        """One execution, in an order of its own."""

        @tool
        def pay(n: int) -> str:
            """Pays."""
            self.paid.append(n)
            return f"paid {n}"

        calls = [f"c{n}" for n in range(1, self._n + 1)]
        order = Order(self._rng.sample(calls, self._n) if self._rng.random() < 0.7 else None)
        with self.ax() as ax:
            made = wrap_tools([pay], ax, policies={"pay": CONFIRM})
            saver = self._saver or SqliteSaver(
                sqlite3.connect(self._folder / "checkpoints.db", check_same_thread=False)
            )
            graph = node_of(*made, saver=saver, wrap_tool_call=order.gate, awrap_tool_call=order.agate)
            return self._drive(graph, value, thread())

    def start(self) -> Any:
        calls = [("pay", {"n": n}, f"c{n}") for n in range(1, self._n + 1)]
        return self.go({"messages": [asks(*calls)]})

    def ax(self) -> AX:
        return AX(f"sqlite:///{self._folder}/ax.db")


def decisions(ax: AX) -> dict[str, str | None]:
    """How each task was decided so far."""
    tasks = [ax.get(task.id) for task in ax.tasks().tasks]
    return {task.id: (task.approval or {}).get("decision") for task in tasks}


@pytest.fixture(params=["memory", "file"])
def saver(request: pytest.FixtureRequest, drive: Drive) -> Any:
    if request.param == "file" and drive.is_async:
        pytest.skip("the saver on a file is sync only")
    return InMemorySaver() if request.param == "memory" else None


@pytest.mark.parametrize("seed", range(12))
def test_every_answer_decides_the_task_that_its_question_showed(
    seed: int, drive: Drive, saver: Any, tmp_path: Path
) -> None:
    """Whatever order the calls come in, and whatever is decided elsewhere meanwhile: no answer reaches another task,
    the effects are the approvals, and nothing that was decided is asked about again."""
    rng = random.Random(seed)
    n = rng.randint(2, 5)
    till = Till(tmp_path, drive, n, saver, rng)
    result, expected, shown = till.start(), {}, set()
    while "__interrupt__" in result:
        (question,) = result["__interrupt__"]
        task_id, number = question.value["ax_task_id"], question.value["args"]["n"]
        assert question.value["tool_call_id"] == f"c{number}"
        assert task_id not in shown, "asked again after it was decided"
        shown.add(task_id)
        with till.ax() as ax:
            before = decisions(ax)
        how = rng.choice(["approve", "approve", "reject", "edit", "respond", "elsewhere", "elsewhere, woken"])
        answer: Any = how
        match how:
            case "approve":
                expected[number] = ("success", f"paid {number}", number)
            case "reject":
                answer = {"type": "reject", "message": f"no {number}"}
                expected[number] = ("error", f"no {number}", None)
            case "edit":
                action = {"name": "pay", "args": {"n": number + 100}}
                answer = {"type": "edit", "edited_action": action}
                expected[number] = ("success", f"paid {number + 100}", number + 100)
            case "respond":
                answer = {"type": "respond", "message": f"by hand {number}"}
                expected[number] = ("success", f"by hand {number}", None)
            case _:
                with till.ax() as ax:
                    assert ax.confirm(task_id, by="ops")
                answer = True if how.endswith("woken") else None
                expected[number] = ("success", f"paid {number}", number)
        result = till.go(None if answer is None else Command(resume=answer))
        with till.ax() as ax:
            after = decisions(ax)
        assert {each for each in after if after[each] != before.get(each)} == {task_id}
    told = {message.tool_call_id: message for message in answers(result)}
    for number, (status, text, _) in expected.items():
        message = told[f"c{number}"]
        assert (message.status, text in message.text) == (status, True)
    assert len(expected) == n
    assert sorted(till.paid) == sorted(paid for _, _, paid in expected.values() if paid is not None)


TWO = [("pay", {"n": 1}, "a"), ("pay", {"n": 2}, "b")]


def test_the_call_that_asks_first_next_time_does_not_get_the_answer_of_another(
    desk: Desk, paid: list[int]
) -> None:
    """The question of the one is shown and approved; the other comes first when the node runs again."""
    number, _, _ = shown(desk.ask(*TWO))
    first, second = ("a", "b") if number == 1 else ("b", "a")
    other, _, _ = shown(desk.go(Command(resume="approve"), [second, first]))
    assert other != number and paid in ([], [number])
    desk.go(Command(resume={"type": "reject", "message": "no"}), [second, first])
    assert paid == [number]


def test_by_the_id_of_the_interrupt(desk: Desk, paid: list[int]) -> None:
    """As LangGraph's own front ends answer."""
    number, _, interrupt_id = shown(desk.ask(*TWO))
    other, _, again = shown(desk.go(Command(resume={interrupt_id: "approve"}), ["b", "a"]))
    assert other != number
    desk.go(Command(resume={again: {"type": "reject"}}), ["a", "b"])
    assert paid == [number]


def test_an_answer_may_name_another_call_that_waits(desk: Desk, ax: AX, paid: list[int]) -> None:
    """It decides that one; the one that was shown is asked about again."""
    number, task_id, _ = shown(desk.ask(*TWO))
    while len(waiting := ax.tasks(state="CONFIRMING").tasks) < 2:
        desk.go(None)
    (other,) = [task for task in waiting if task.id != task_id]
    again = shown(desk.go(Command(resume={"type": "approve", "ax_task_id": other.id})))
    assert again[:2] == (number, task_id)
    desk.go(Command(resume="approve"))
    assert sorted(paid) == [1, 2]


@pytest.mark.parametrize("answer", ["maybe", {"type": "approve", "ax_task_id": "nobody"}], ids=str)
def test_an_answer_that_is_none_is_refused_by_the_whole_node(
    answer: Any, desk: Desk, ax: AX, paid: list[int]
) -> None:
    """Whichever call comes first: nothing is decided, and the question that was shown stands."""
    number, task_id, _ = shown(desk.ask(*TWO))
    for order in (["a", "b"], ["b", "a"]):
        with pytest.raises((ValidationError, PolicyError), match="of task|given for task"):
            desk.go(Command(resume=answer), order)
    assert {task.state for task in ax.tasks().tasks} == {State.CONFIRMING}
    assert shown(desk.go(Command(resume="approve"), ["b", "a"]))[0] != number
    assert ax.get(task_id).approved and paid in ([], [number])


def test_an_edit_that_does_not_fit_is_told_to_its_own_call_alone(desk: Desk, ax: AX, paid: list[int]) -> None:
    """The other is asked about as ever."""
    number, task_id, _ = shown(desk.ask(*TWO))
    edit = {"type": "edit", "edited_action": {"name": "pay", "args": {"n": "many"}}}
    other, _, _ = shown(desk.go(Command(resume=edit), ["b", "a"]))
    assert other != number
    result = desk.go(Command(resume="approve"), ["b", "a"])
    assert paid == [other]
    assert [m.status for m in answers(result)].count("error") == 1
    assert ax.get(task_id).state is State.CONFIRMING


def test_an_answer_of_before_does_not_decide_a_question_that_is_put_anew(
    desk: Desk, ax: AX, clock: Skew, paid: list[int]
) -> None:
    """Approved, not used in time, put up again by an operator: the old approval is not taken for the new question."""
    number, task_id, _ = shown(desk.ask(*TWO))
    assert ax.confirm(task_id, by="ops")
    clock.ahead(90_000)
    assert shown(desk.go(Command(resume="approve")))[0] != number
    assert paid == []
    ax.requeue(task_id, by="ops")
    assert ax.get(task_id).state is State.CONFIRMING
    seen = [shown(desk.go(None))[0]]
    while "__interrupt__" in (result := desk.go(Command(resume="approve"))):
        seen.append(shown(result)[0])
    assert seen.count(number) == 1
    assert paid.count(number) == 1


def test_two_that_resume_at_once_show_one_question_and_pay_once(tmp_path: Path) -> None:
    """Two AX on one record, each with a graph of its own: whoever is second shows what the first one showed."""
    saver, paid, together = InMemorySaver(), [], threading.Barrier(2)

    def go(value: Any, alone: bool = True) -> Any:
        def gate(request: Any, handler: Any) -> Any:
            if not alone and request.tool_call["id"] == "c0":
                together.wait(20)  # both have read where the graph stands
            return handler(request)

        @tool
        def pay(n: int) -> str:
            """Pays."""
            paid.append(n)
            return f"paid {n}"

        with AX(f"sqlite:///{tmp_path}/ax.db") as ax:
            tools = wrap_tools([pay], ax, policies={"pay": CONFIRM})
            return node_of(*tools, saver=saver, wrap_tool_call=gate).invoke(value, thread())

    result = go({"messages": [asks(*(("pay", {"n": n}, f"c{n}") for n in range(4)))]})
    approved = set()
    while "__interrupt__" in result:
        approved.add(shown(result)[0])
        with ThreadPoolExecutor(2) as pool:
            results = [pool.submit(go, Command(resume="approve"), alone=False) for _ in range(2)]
        result, other = (each.result() for each in results)
        assert ("__interrupt__" in result) == ("__interrupt__" in other)
        assert "__interrupt__" not in result or shown(result) == shown(other)
        assert set(paid) <= approved
    assert sorted(paid) == [0, 1, 2, 3]


def test_a_question_that_was_answered_keeps_its_number() -> None:
    """An execution that is out of date may note what it likes: the answer stays with the task that it was taken for."""
    trail = [Mark(task, f"{what} 0 q") for task in ("x", "y") for what in ("card", "answered")]
    assert slots_of(trail) == {0: Slot("x", "card", "q", True)}
    assert slots_of(trail[2:3]) == {0: Slot("y", "card", "q")}
