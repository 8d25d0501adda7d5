"""One decision of the model is one task: however often its node runs, and only as long as it is that decision."""

import asyncio
import functools
import threading
from types import SimpleNamespace
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import Command, RetryPolicy, interrupt

from ax_adapters.bridge import Identity
from ax_adapters.langchain import wrap_tools
from ax_adapters.langchain.identity import identify
from ax_core import AX, Effect, Policy, State
from support.driving import Drive, Wrap, node_of
from support.scripted import Scripted, answers, asks, said, thread, told

RETRY = RetryPolicy(max_attempts=3, initial_interval=0.001, jitter=False, retry_on=ConnectionError)


class Effects:
    """A tool that counts what it did."""

    def __init__(self, name: str = "pay") -> None:
        self.seen: list[int] = []

        def pay(n: int = 0) -> str:
            """Pays."""
            self.seen.append(n)
            return f"paid {n} as {len(self.seen)}"

        self.tool = tool(name)(pay)


@pytest.fixture
def pay() -> Effects:
    return Effects()


def test_a_resumed_node_does_not_repeat_a_finished_sibling(
    pay: Effects, seam: Wrap, drive: Drive, ax: AX
) -> None:
    """One ToolNode, one call paused: on resume the call that was done is answered from the record, marked replayed."""
    paid = threading.Event()

    @tool
    def ask(q: str) -> str:
        """Asks."""
        assert paid.wait(10)
        return f"answer={interrupt(q)}"

    @tool("pay")
    def paying(n: int) -> str:
        """Pays."""
        try:
            return pay.tool.func(n)
        finally:
            paid.set()

    graph = node_of(seam(paying), seam(ask), saver=InMemorySaver())
    drive(graph, {"messages": [asks(("pay", {"n": 1}, "p"), ("ask", {"q": "?"}, "q"))]}, thread())
    while ax.tasks(tool="pay", state="SUCCESS").tasks == ():  # the async node leaves its sibling running
        threading.Event().wait(0.01)
    result = drive(graph, Command(resume="y"), thread())
    assert told(result) == ["paid 1 as 1", "answer=y"]
    assert pay.seen == [1]
    (task,) = ax.tasks(tool="pay").tasks
    assert task.replayed


def test_many_pauses_after_an_effect_do_not_repeat_it(pay: Effects, wrap: Wrap, drive: Drive, ax: AX) -> None:
    """A review that pushes back three times re-enters the node from the top; the effect before it stays one."""
    made = wrap(pay.tool)

    def log_and_review(state: MessagesState) -> dict[str, Any]:
        made.invoke({"n": 7})
        while interrupt("ok?") != "yes":
            pass
        return {"messages": [("ai", "done")]}

    graph = StateGraph(MessagesState)
    graph.add_node("work", log_and_review)
    graph.add_edge(START, "work")
    compiled = graph.compile(checkpointer=InMemorySaver())
    drive(compiled, said(), thread())
    for answer in ("no", "no", "no", "yes"):
        result = drive(compiled, Command(resume=answer), thread())
    assert result["messages"][-1].text == "done"
    assert pay.seen == [7]
    (task,) = ax.tasks().tasks
    assert task.replays == 4


def test_a_retried_node_does_not_repeat_a_finished_sibling(
    pay: Effects, wrap: Wrap, drive: Drive, ax: AX
) -> None:
    """A node's own RetryPolicy runs it again whole: what was done is answered, what failed is tried once more."""
    tries = []

    @tool
    def flaky(n: int) -> str:
        """Fails once."""
        tries.append(n)
        if len(tries) == 1:
            raise ConnectionError("x")
        return "ok"

    made = wrap(pay.tool), wrap(flaky)

    def both(state: MessagesState) -> dict[str, Any]:
        one = made[0].invoke({"type": "tool_call", "name": "pay", "args": {"n": 1}, "id": "p"})
        two = made[1].invoke({"type": "tool_call", "name": "flaky", "args": {"n": 1}, "id": "f"})
        return {"messages": [one, two]}

    graph = StateGraph(MessagesState)
    graph.add_node("both", both, retry_policy=RETRY)
    graph.add_edge(START, "both")
    result = drive(graph.compile(checkpointer=InMemorySaver()), said(), thread())
    assert told(result) == ["paid 1 as 1", "ok"]
    assert (pay.seen, tries) == ([1], [1, 1])
    assert {task.tool: task.attempts for task in ax.tasks().tasks} == {"pay": 1, "flaky": 2}


def test_a_later_turn_may_use_an_id_again(pay: Effects, seam: Wrap, drive: Drive, ax: AX) -> None:
    """Providers that count from call_0 in every turn get a new execution for every turn."""
    script = [
        [("pay", {"n": 1}, "call_0")],
        "a",
        [("pay", {"n": 1}, "call_0")],
        "b",
        [("pay", {"n": 2}, "call_0")],
        "c",
    ]
    agent = create_agent(Scripted(script=script), [seam(pay.tool)], checkpointer=InMemorySaver())
    for _ in range(3):
        result = drive(agent, said(), thread())
    assert told(result) == ["paid 1 as 1", "paid 1 as 2", "paid 2 as 3"]
    assert len({task.request_id for task in ax.tasks().tasks}) == 3


@pytest.mark.parametrize("saved", [True, False], ids=["saved", "unsaved"])
def test_a_later_message_of_a_turn_may_use_an_id_again(
    saved: bool, pay: Effects, seam: Wrap, drive: Drive, ax: AX
) -> None:
    """Providers that count from call_0 in every message: other arguments are no conflict, the same ones no replay."""
    script = [[("pay", {"n": n}, "call_0")] for n in (1, 2, 1)]
    saver = InMemorySaver() if saved else None
    agent = create_agent(Scripted(script=[*script, "done"]), [seam(pay.tool)], checkpointer=saver)
    result = drive(agent, said(), thread() if saved else None)
    assert told(result) == ["paid 1 as 1", "paid 2 as 2", "paid 1 as 3"]
    assert [task.state for task in ax.tasks().tasks] == [State.SUCCESS] * 3


def test_a_fork_in_time_executes_again(pay: Effects, seam: Wrap, drive: Drive) -> None:
    """Going back to before the tools and on from there is a decision to do it again."""
    agent = create_agent(
        Scripted(script=[[("pay", {"n": 1})], "d"]), [seam(pay.tool)], checkpointer=InMemorySaver()
    )
    drive(agent, said(), thread())
    before = next(each for each in agent.get_state_history(thread()) if each.next == ("tools",))
    drive(agent, None, before.config)
    assert pay.seen == [1, 1]


def test_ids_that_are_missing_do_not_merge_calls(seam: Wrap, ax: AX) -> None:
    """Two different calls with an id of '' are two tasks with two results, each bound to its own call."""
    graph = node_of(seam(Effects("pay").tool), saver=InMemorySaver())
    result = graph.invoke({"messages": [asks(("pay", {"n": 1}, ""), ("pay", {"n": 2}, ""))]}, thread())
    assert sorted(message.text.split()[1] for message in answers(result)) == ["1", "2"]
    assert len(ax.tasks().tasks) == 2


def test_calls_whose_ids_are_missing_are_known_again_when_their_message_is_played_again(
    pay: Effects, seam: Wrap, drive: Drive, ax: AX
) -> None:
    """Two calls with an id of '', one of which pauses: on resume the other is answered and not made again."""

    @tool
    def ask(q: str) -> str:
        """Asks."""
        while ax.tasks(tool="pay", state="SUCCESS").tasks == ():
            threading.Event().wait(0.01)
        return f"answer={interrupt(q)}"

    graph = node_of(seam(pay.tool), seam(ask), saver=InMemorySaver())
    drive(graph, {"messages": [asks(("pay", {"n": 1}, ""), ("ask", {"q": "?"}, ""))]}, thread())
    assert told(drive(graph, Command(resume="y"), thread())) == ["paid 1 as 1", "answer=y"]
    assert (pay.seen, len(ax.tasks().tasks)) == ([1], 2)


def test_calls_without_an_id_inside_a_node(pay: Effects, wrap: Wrap, drive: Drive, ax: AX) -> None:
    """A bare tool.invoke(args) is told apart by its arguments and its place among equal calls: stable on a retry."""
    made, tries = wrap(pay.tool), []

    def work(state: MessagesState) -> dict[str, Any]:
        texts = [made.invoke({"n": n}) for n in (1, 1, 2)]
        tries.append(texts)
        if len(tries) == 1:
            raise ConnectionError("after the effects")
        return {"messages": [("ai", "; ".join(texts))]}

    graph = StateGraph(MessagesState)
    graph.add_node("work", work, retry_policy=RETRY)
    graph.add_edge(START, "work")
    result = drive(graph.compile(checkpointer=InMemorySaver()), said(), thread())
    assert result["messages"][-1].text == "paid 1 as 1; paid 1 as 2; paid 2 as 3"
    assert tries[0] == tries[1]
    assert (pay.seen, len(ax.tasks().tasks)) == ([1, 1, 2], 3)


def test_only_a_success_that_was_delivered_counts_up(wrap: Wrap, ax: AX) -> None:
    """After a failure the same call in the same node is the same decision; after a success it is a new one."""
    script: list[Any] = [ConnectionError("1"), ConnectionError("2"), "first", "second"]

    @tool
    def flaky(n: int) -> str:
        """Plays the script."""
        item = script.pop(0)
        if isinstance(item, Exception):
            raise item
        return item

    made, texts = wrap(flaky), []

    def work(state: MessagesState) -> dict[str, Any]:
        for _ in range(4):
            try:
                texts.append(made.invoke({"n": 1}))
            except ConnectionError as error:
                texts.append(str(error))
        return {}

    graph = StateGraph(MessagesState)
    graph.add_node("work", work)
    graph.add_edge(START, "work")
    graph.compile(checkpointer=InMemorySaver()).invoke(said(), thread())
    assert texts == ["1", "2", "first", "second"]
    assert [(task.attempts, task.state) for task in ax.tasks().tasks] == [
        (1, State.SUCCESS),
        (3, State.SUCCESS),
    ]


def test_threads_do_not_share_decisions(pay: Effects, seam: Wrap, drive: Drive, ax: AX) -> None:
    """The same conversation in two threads is two sets of tasks, in two sessions."""
    agent = create_agent(
        Scripted(script=[[("pay", {"n": 1})], "d"]), [seam(pay.tool)], checkpointer=InMemorySaver()
    )
    for name in ("A", "B"):
        drive(agent, said(), thread(name))
    assert pay.seen == [1, 1]
    assert {task.session for task in ax.tasks().tasks} == {"A", "B"}


def test_without_a_checkpointer_each_invocation_is_new(
    pay: Effects, seam: Wrap, drive: Drive, ax: AX
) -> None:
    """Nothing could resume it; within it, a call is still one decision."""
    agent = create_agent(Scripted(script=[[("pay", {"n": 1}, "p")], "d"]), [seam(pay.tool)])
    for _ in range(2):
        drive(agent, said())
    assert pay.seen == [1, 1]
    assert all(task.request_id and task.session is None for task in ax.tasks().tasks)


def test_outside_a_graph_a_call_has_no_identity_unless_it_is_given(pay: Effects, wrap: Wrap, ax: AX) -> None:
    """Twice is twice; ax.override names the decision where the framework's call cannot carry it."""
    made = wrap(pay.tool)
    assert (made.invoke({"n": 1}), made.invoke({"n": 1})) == ("paid 1 as 1", "paid 1 as 2")
    with ax.override(request_id="r1"):
        assert made.invoke({"n": 1}) == made.invoke({"n": 1}) == "paid 1 as 3"


def test_three_results_of_one_tool_are_paired_with_their_calls(seam: Wrap, drive: Drive) -> None:
    """Several calls of one tool in a turn do not overwrite one another."""
    made = seam(Effects("search").tool)
    script = [[("search", {"n": n}, f"id{n}") for n in (1, 2, 3)], "d"]
    result = drive(create_agent(Scripted(script=script), [made]), said())
    assert {m.tool_call_id: m.text.split()[1] for m in answers(result)} == {
        "id1": "1",
        "id2": "2",
        "id3": "3",
    }


def test_each_attempt_of_a_node_counts_anew() -> None:
    """Also where LangGraph hands every attempt the same scratchpad, as its older releases do."""

    def asked(attempt: int) -> Identity:
        runtime = SimpleNamespace(execution_info=SimpleNamespace(node_attempt=attempt))
        conf = {
            "thread_id": "T",
            "checkpoint_ns": "n:1",
            "__pregel_scratchpad": pad,
            "__pregel_runtime": runtime,
        }
        return identify("default", "pay", "c1", None, {"configurable": conf})

    pad = object()
    first = asked(1)
    first.delivered()
    assert asked(1).request_id != first.request_id
    assert asked(2).request_id == first.request_id


@pytest.mark.parametrize("tool_call_id", ["", None], ids=repr)
def test_equal_calls_without_an_id_that_run_together_are_two(
    tool_call_id: str | None, ax: AX, drive: Drive
) -> None:
    """As bare: nothing says that they are one. A crash between them leaves each with a task of its own."""
    ran: list[int] = []
    both = threading.Barrier(2)

    @tool
    def act(n: int) -> str:
        """Acts."""
        ran.append(n)
        both.wait(20)  # neither ends before the other has begun
        return "acted"

    (wrapped,) = wrap_tools([act], ax, policies={"act": Policy(Effect.UNSAFE, dedupe="call")})
    stop = [False, True]

    async def node(state: Any) -> Any:
        call = {"type": "tool_call", "name": "act", "args": {"n": 1}, "id": tool_call_id}
        given: Any = {"n": 1} if tool_call_id is None else call
        run: Any = wrapped.ainvoke if drive.is_async else functools.partial(asyncio.to_thread, wrapped.invoke)
        await asyncio.gather(run(given), run(given))
        if stop.pop():
            raise RuntimeError("crashed")
        return {"messages": []}

    graph = StateGraph(MessagesState)
    graph.add_node("node", node)
    graph.add_edge(START, "node")
    compiled = graph.compile(checkpointer=InMemorySaver())
    on_a_loop = Drive("async")
    with pytest.raises(RuntimeError, match="crashed"):
        on_a_loop(compiled, {"messages": []}, thread())
    on_a_loop(compiled, None, thread())
    assert ran == [1, 1]
    assert len(ax.tasks().tasks) == 2
