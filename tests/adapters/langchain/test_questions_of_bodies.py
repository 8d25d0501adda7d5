"""Questions that code asks beside AX's own, in one node: each is given the answers that are meant for it."""

from __future__ import annotations

import random
from typing import Any

import pytest
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import Command, interrupt

from ax_adapters.langchain import wrap_tools
from ax_core import AX, Effect, Policy
from support.desk import CONFIRM, Desk, shown
from support.driving import Drive
from support.scripted import answers, asks, thread


def test_bodies_that_interrupt_themselves_get_what_was_sent_for_them(ax: AX, drive: Drive) -> None:
    """Each of three payments is approved, and asks from which account: questions and answers in any order."""
    heard: dict[int, str] = {}

    @tool
    def pay(n: int) -> str:
        """Pays, and asks from where."""
        first = interrupt({"account": n})
        heard[n] = f"{first} {interrupt({'sure': n})}"
        return f"paid {n}"

    desk = Desk(ax, drive, pay, pay=Policy(Effect.UNSAFE, confirm=True, marks_effect=True))
    calls = [("pay", {"n": n}, f"c{n}") for n in (1, 2, 3)]
    rng = random.Random(drive.mode)
    result, asked = desk.ask(*calls), 0
    while "__interrupt__" in result:
        (question,) = result["__interrupt__"]
        match question.value:
            case {"account": n}:
                answer: Any = f"account {n}"
            case {"sure": n}:
                answer = f"sure {n}"
            case _:
                answer = "approve"
        asked += 1
        result = desk.go(Command(resume=answer), rng.sample(["c1", "c2", "c3"], 3))
    assert heard == {n: f"account {n} sure {n}" for n in (1, 2, 3)}
    assert asked == 9


def test_a_node_of_ones_own_that_asks_before_and_after(ax: AX, drive: Drive) -> None:
    """Its interrupts and the tool's question are answered in the order in which it comes to them."""
    paid: list[int] = []

    @tool
    def pay(n: int) -> str:
        """Pays."""
        paid.append(n)
        return "paid"

    (wrapped,) = wrap_tools([pay], ax, policies={"pay": CONFIRM})

    def node(state: Any) -> Any:
        said = [interrupt("before"), wrapped.invoke({"n": 1}), interrupt("after"), wrapped.invoke({"n": 2})]
        return {"messages": [("ai", str(said))]}

    graph = StateGraph(MessagesState)
    graph.add_node("node", node)
    graph.add_edge(START, "node")
    compiled = graph.compile(checkpointer=InMemorySaver())
    result = drive(compiled, {"messages": []}, thread())
    for answer, asked in (("x", "before"), ("approve", 1), ("y", "after"), ("approve", 2)):
        (question,) = result["__interrupt__"]
        value = question.value
        assert (value["args"]["n"] if isinstance(value, dict) else value) == asked
        result = drive(compiled, Command(resume=answer), thread())
    assert result["messages"][-1].text == "['x', 'paid', 'y', 'paid']"
    assert paid == [1, 2]


def test_the_answer_to_a_body_waits_for_it_while_others_are_asked_about(ax: AX, drive: Drive) -> None:
    """The node is paused by another question before the call that was answered has even started."""
    heard: list[str] = []

    @tool
    def look() -> str:
        """Asks where."""
        heard.append(interrupt("where?"))
        return heard[-1]

    @tool
    def pay(n: int) -> str:
        """Pays."""
        return f"paid {n}"

    desk = Desk(ax, drive, look, pay, look="read")
    calls = [("pay", {"n": 1}, "b"), ("pay", {"n": 2}, "c"), ("look", {}, "y")]
    (question,) = desk.go({"messages": [asks(*calls)]}, ["y", "b", "c"])["__interrupt__"]
    assert question.value == "where?"
    one = desk.go(Command(resume="here"), ["b", "c", "y"], max_concurrency=1)
    assert shown(one)[0] == 1
    two = desk.go(Command(resume="approve"), ["b", "c", "y"])
    assert shown(two)[0] == 2
    end = desk.go(Command(resume="approve"), ["c", "y", "b"])
    assert [message.text for message in answers(end)] == ["paid 1", "paid 2", "here"]
    assert set(heard) == {"here"}


@pytest.mark.parametrize("order", [["a", "b"], ["b", "a"]], ids="-".join)
def test_a_tool_that_runs_a_graph_which_interrupts_beside_a_question(
    order: list[str], ax: AX, drive: Drive
) -> None:
    """The value for the inner graph reaches it, though the payment comes to ask before it is taken."""
    inner = StateGraph(MessagesState)
    inner.add_node("ask", lambda _: {"messages": [("ai", str(interrupt("inner")))]})
    inner.add_edge(START, "ask")
    made = inner.compile()

    @tool
    def look() -> str:
        """Asks inside."""
        return str(made.invoke({"messages": []})["messages"][-1].text)

    @tool
    def pay(n: int) -> str:
        """Pays."""
        return f"paid {n}"

    desk = Desk(ax, drive, look, pay, look="read")
    result = desk.ask(("look", {}, "a"), ("pay", {"n": 1}, "b"))
    seen = []
    while "__interrupt__" in result:
        (question,) = result["__interrupt__"]
        seen.append(question.value if isinstance(question.value, str) else "approve")
        assert "approve" in seen[:-1] or ax.tasks(tool="pay", state="SUCCESS").tasks == ()
        result = desk.go(Command(resume=True if seen[-1] == "inner" else "approve"), order)
    assert set(seen) == {"approve", "inner"} and seen.count("approve") == 1
    assert [message.text for message in answers(result)] == ["True", "paid 1"]
