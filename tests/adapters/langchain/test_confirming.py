"""A person approves: the task is on record first, then the graph pauses with LangGraph's own interrupt."""

from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command, interrupt
from pydantic import ValidationError

from ax_adapters.langchain import wrap_tools
from ax_core import AX, Effect, Policy, State
from support.driving import Drive, node_of
from support.scripted import Scripted, answers, asks, said, thread, told
from support.skew import Skew

CONFIRM = Policy(Effect.UNSAFE, confirm=True)


class Desk:
    """An agent whose payments need approval."""

    def __init__(self, ax: AX, drive: Drive, *calls: Any, saver: Any = True) -> None:
        self.paid: list[tuple[str, int]] = []
        self._drive = drive

        @tool
        def pay(order: str, amount: int) -> str:
            """Pays."""
            self.paid.append((order, amount))
            return f"paid {amount}"

        asked = list(calls) or [("pay", {"order": "7", "amount": 10}, "p")]
        self.model = Scripted(script=[asked, "done"])
        self.agent = create_agent(
            self.model,
            wrap_tools([pay], ax, policies={"pay": CONFIRM}),
            checkpointer=InMemorySaver() if saver else None,
        )

    def start(self) -> Any:
        return self._drive(self.agent, said(), thread())

    def resume(self, value: Any) -> Any:
        return self._drive(self.agent, Command(resume=value), thread())


@pytest.fixture
def desk(ax: AX, drive: Drive) -> Desk:
    return Desk(ax, drive)


def test_the_question_is_on_record_before_the_graph_pauses(desk: Desk, ax: AX) -> None:
    """The interrupt has the form of LangChain's own approval requests, and names the task that waits."""
    (asked,) = desk.start()["__interrupt__"]
    (task,) = ax.tasks().tasks
    assert task.state is State.CONFIRMING
    assert (asked.value["type"], asked.value["name"], asked.value["tool_call_id"]) == (
        "tool_approval",
        "pay",
        "p",
    )
    assert asked.value["args"] == {"order": "7", "amount": 10}
    assert asked.value["allowed_decisions"] == ["approve", "edit", "reject", "respond"]
    assert (asked.value["ax_task_id"], asked.value["ax_run_id"]) == (task.id, task.run_id)
    assert asked.value["ax_expires_at"] > "2"
    assert task.address["thread_id"] == "T"
    assert desk.paid == []


@pytest.mark.parametrize(
    "answer",
    [True, "approve", {"type": "approve"}, {"decisions": [{"type": "approve"}]}],
    ids=["true", "text", "decision", "decisions"],
)
def test_approved(answer: Any, desk: Desk, ax: AX) -> None:
    """Runs once, in every form in which front ends say yes; who decided is on record."""
    desk.start()
    assert told(desk.resume(answer)) == ["paid 10"]
    assert desk.paid == [("7", 10)]
    task = ax.get(ax.tasks().tasks[0].id)
    assert task.approval is not None and task.approval["by"] == "langgraph:T"


def test_edited(desk: Desk, ax: AX) -> None:
    """Runs with the person's arguments, and the model is told with which."""
    desk.start()
    edit = {"type": "edit", "edited_action": {"name": "pay", "args": {"order": "7", "amount": 5}}}
    (text,) = told(desk.resume(edit))
    assert desk.paid == [("7", 5)]
    assert text.startswith("paid 5") and "changed the arguments" in text
    assert ax.tasks().tasks[0].payload == {"order": "7", "amount": 5}


def test_rejected(desk: Desk, ax: AX) -> None:
    """Is not run, and the model reads the reviewer's own words."""
    desk.start()
    (message,) = answers(desk.resume({"type": "reject", "message": "wrong account, use 4411"}))
    assert desk.paid == []
    assert message.status == "error" and "wrong account, use 4411" in message.text
    assert ax.tasks().tasks[0].reason == "rejected"


def test_a_rejected_call_that_is_passed_on_again_is_not_run(ax: AX, drive: Drive) -> None:
    """The message stays in the history, and another executor gets it: it is asked about as a new decision, at most."""
    paid: list[int] = []

    @tool
    def pay(n: int) -> str:
        """Pays."""
        paid.append(n)
        return "paid"

    graph = node_of(*wrap_tools([pay], ax, policies={"pay": CONFIRM}), saver=InMemorySaver())
    message = {"messages": [asks(("pay", {"n": 1}, "p"))]}
    drive(graph, message, thread())
    for _ in range(2):
        result = drive(graph, Command(resume={"type": "reject", "message": "no"}), thread())
        assert told(result)[-1].startswith("REJECTED")
        assert drive(graph, message, thread())["__interrupt__"]
    assert paid == []
    assert {task.state for task in ax.tasks().tasks} == {State.CANCELLED, State.CONFIRMING}


def test_responded(desk: Desk, ax: AX) -> None:
    """A person answers in the tool's place: the model reads that, and nothing is run."""
    desk.start()
    (message,) = answers(desk.resume({"type": "respond", "message": "I paid it by hand"}))
    assert (message.text, message.status, desk.paid) == ("I paid it by hand", "success", [])
    assert ax.tasks().tasks[0].state is State.CANCELLED


NO_ANSWERS = ["maybe", {"type": "aprove"}, 7, {"type": "edit"}, {"type": "approve", "ax_task_id": "x"}]


@pytest.mark.parametrize("answer", NO_ANSWERS, ids=str)
def test_an_answer_that_is_none_decides_nothing(answer: Any, desk: Desk, ax: AX) -> None:
    """It is refused in words that say what to send; the question stands, and a right answer still counts."""
    desk.start()
    with pytest.raises(ValidationError, match="of task|given for task"):
        desk.resume(answer)
    assert ax.tasks().tasks[0].state is State.CONFIRMING
    assert desk.paid == []
    assert told(desk.resume("approve")) == ["paid 10"]


def test_decided_elsewhere(desk: Desk, ax: AX) -> None:
    """Approved in a console, hours later and by somebody else: the resumed graph does not ask again."""
    desk.start()
    (task,) = ax.tasks().tasks
    assert ax.confirm(task.id, by="ops")
    assert told(desk.resume("woken up")) == ["paid 10"]
    assert desk.paid == [("7", 10)]


def test_decided_elsewhere_stands_against_the_resume_value(desk: Desk, ax: AX) -> None:
    """Rejected in the console, approved in the front end: the first decision holds, and it is told."""
    desk.start()
    ax.reject(ax.tasks().tasks[0].id, by="ops", reason="fraud")
    (message,) = answers(desk.resume("approve"))
    assert "fraud" in message.text and desk.paid == []


def test_without_a_checkpointer_it_is_pending_at_once(ax: AX, drive: Drive) -> None:
    """Nothing could resume it: the model is told that it waits, and the agent ends its turn."""
    desk = Desk(ax, drive, saver=False)
    result = desk.start()
    assert "__interrupt__" not in result
    assert "PENDING APPROVAL" in told(result)[0]
    assert result["messages"][-1].text == "done"


def test_two_questions_are_shown_together_and_answered_by_their_ids(ax: AX, drive: Drive) -> None:
    """In reverse order: each answer reaches its own call."""
    desk = Desk(
        ax, drive, ("pay", {"order": "1", "amount": 1}, "a"), ("pay", {"order": "2", "amount": 2}, "b")
    )
    first, second = sorted(desk.start()["__interrupt__"], key=lambda each: each.value["tool_call_id"])
    assert [each.value["args"]["order"] for each in (first, second)] == ["1", "2"]
    result = desk.resume(
        {second.id: {"type": "approve"}, first.id: {"type": "reject", "message": "not this"}}
    )
    assert desk.paid == [("2", 2)]
    assert {m.tool_call_id: m.status for m in answers(result)} == {"a": "error", "b": "success"}


def test_one_answer_of_two_runs_one(ax: AX, drive: Drive) -> None:
    """The other keeps waiting; the resume that answers it does not repeat the first."""
    desk = Desk(
        ax, drive, ("pay", {"order": "1", "amount": 1}, "a"), ("pay", {"order": "2", "amount": 2}, "b")
    )
    first, second = sorted(desk.start()["__interrupt__"], key=lambda each: each.value["tool_call_id"])
    waiting = desk.resume({first.id: "approve"})
    assert desk.paid == [("1", 1)]
    assert [each.id for each in waiting["__interrupt__"]] == [second.id]
    assert told(desk.resume({second.id: "approve"})) == ["paid 1", "paid 2"]
    assert desk.paid == [("1", 1), ("2", 2)]


class OneNode:
    """One ToolNode whose message holds a call that is done at once and two that need approval."""

    def __init__(self, ax: AX, drive: Drive) -> None:
        self.paid: list[int] = []
        self.acted: list[int] = []
        self._ax, self._drive = ax, drive

        @tool
        def pay(n: int) -> str:
            """Pays."""
            self.paid.append(n)
            return f"paid {n}"

        @tool
        def act(n: int) -> str:
            """Acts."""
            self.acted.append(n)
            return "acted"

        made = wrap_tools([act, pay], ax, policies={"pay": CONFIRM, "act": "unsafe"})
        self._graph = node_of(*made, saver=InMemorySaver())
        self._calls = asks(("act", {"n": 0}, "a"), ("pay", {"n": 1}, "b"), ("pay", {"n": 2}, "c"))

    def start(self) -> Any:
        """Until both questions are on record: the node pauses for the first, whatever the other calls are at."""
        paused = self._drive(self._graph, {"messages": [self._calls]}, thread())
        while len(self._ax.tasks(state="CONFIRMING").tasks) < 2:
            paused = self.again()
        return paused

    def again(self, value: Any = None) -> Any:
        return self._drive(self._graph, value, thread())

    def approve(self, n: int) -> None:
        (task,) = [each for each in self._ax.tasks(tool="pay").tasks if each.payload == {"n": n}]
        assert self._ax.confirm(task.id, by="ops")


def test_each_question_of_one_node_is_decided_for_itself_and_nothing_is_done_twice(ax: AX) -> None:
    """The node runs again whole after the first decision and after the second."""
    node = OneNode(ax, Drive("sync"))  # under ainvoke the first question cuts its siblings off where they are
    node.start()
    node.approve(2)
    assert node.again()["__interrupt__"]
    assert node.paid in ([], [2])  # LangGraph does not start what still waits for a thread when a call pauses
    node.approve(1)
    assert told(node.again()) == ["acted", "paid 1", "paid 2"]
    assert (node.acted, sorted(node.paid)) == ([0], [1, 2])


def test_an_approval_that_expired(desk: Desk, ax: AX, clock: Skew) -> None:
    """A late yes is refused: the model is told that nobody approved in time, and nothing runs."""
    desk.start()
    clock.ahead(CONFIRM.confirm_ttl + 1)
    (message,) = answers(desk.resume("approve"))
    assert desk.paid == []
    assert "nobody approved it in time" in message.text
    assert not ax.confirm(ax.tasks().tasks[0].id, by="ops")


@pytest.mark.parametrize(
    "answer",
    [
        {"type": "reject", "message": "no"},
        "approve",
        {"type": "edit", "edited_action": {"name": "pay", "args": {"order": "7", "amount": 5}}},
    ],
    ids=["reject", "approve", "edit"],
)
def test_rewinding_to_the_question_gives_no_second_effect(answer: Any, desk: Desk, ax: AX) -> None:
    """Approved and executed, then the graph is wound back to the pause and answered again, or otherwise."""
    desk.start()
    paused = desk.agent.get_state(thread()).config
    desk.resume("approve")
    desk._drive(desk.agent, Command(resume=answer), paused)
    assert desk.paid == [("7", 10)]


def test_a_batch_is_decided_call_by_call(ax: AX, drive: Drive) -> None:
    """One needs nobody, one is approved, one rejected: no sibling is touched, and every call is answered once."""
    paid: list[int] = []

    @tool
    def pay(amount: int) -> str:
        """Pays."""
        paid.append(amount)
        return f"paid {amount}"

    policy = Policy(Effect.UNSAFE, confirm=lambda args: args["amount"] > 100)
    asked = [("pay", {"amount": n}, call) for n, call in ((500, "a"), (600, "b"), (5, "c"))]
    agent = create_agent(
        Scripted(script=[asked, "done"]),
        wrap_tools([pay], ax, policies={"pay": policy}),
        checkpointer=InMemorySaver(),
    )
    questions = {q.value["tool_call_id"]: q.id for q in drive(agent, said(), thread())["__interrupt__"]}
    assert set(questions) == {"a", "b"}
    result = drive(
        agent, Command(resume={questions["b"]: {"type": "reject"}, questions["a"]: "approve"}), thread()
    )
    assert sorted((m.tool_call_id, m.status) for m in answers(result)) == [
        ("a", "success"),
        ("b", "error"),
        ("c", "success"),
    ]
    assert sorted(paid) == [5, 500]


def test_a_body_that_interrupts_keeps_its_own_answers(ax: AX, drive: Drive) -> None:
    """First the approval, then the tool's own question: each gets the answer that was sent for it."""
    heard: list[Any] = []

    @tool
    def pay(n: int) -> str:
        """Pays, and asks from where."""
        heard.append(interrupt("which account?"))
        return f"paid from {heard[-1]}"

    made = wrap_tools([pay], ax, policies={"pay": Policy(Effect.UNSAFE, confirm=True, marks_effect=True)})
    agent = create_agent(Scripted(script=[[("pay", {"n": 1})], "d"]), made, checkpointer=InMemorySaver())
    assert drive(agent, said(), thread())["__interrupt__"][0].value["type"] == "tool_approval"
    assert drive(agent, Command(resume="approve"), thread())["__interrupt__"][0].value == "which account?"
    assert told(drive(agent, Command(resume="savings"), thread())) == ["paid from savings"]
    assert heard == ["savings"]


def test_a_predicate_asks_only_where_it_says(ax: AX, drive: Drive) -> None:
    """Small amounts run at once; the large one of the same message waits."""
    paid: list[int] = []

    @tool
    def pay(amount: int) -> str:
        """Pays."""
        paid.append(amount)
        return "paid"

    policy = Policy(Effect.UNSAFE, confirm=lambda args: args["amount"] > 100)
    graph = node_of(*wrap_tools([pay], ax, policies={"pay": policy}), saver=InMemorySaver())
    asked = {"messages": [asks(("pay", {"amount": 5}, "a"), ("pay", {"amount": 500}, "b"))]}
    (question,) = drive(graph, asked, thread())["__interrupt__"]
    assert question.value["args"] == {"amount": 500}
    assert len(told(drive(graph, Command(resume="approve"), thread()))) == 2
    assert sorted(paid) == [5, 500]
