"""Real agents with wrapped tools: they see what they see without AX."""

# No postponed annotations: LlamaIndex compares the raw ones of a tool with Context.
import asyncio
import time
from typing import Any

import pytest
from llama_index.core.agent.workflow import AgentWorkflow, FunctionAgent, ReActAgent
from llama_index.core.tools import FunctionTool
from llama_index.core.workflow import Context

from ax_adapters.llama_index import wrap_tools
from ax_core import AX
from support.llama import Wrap, agent, ask, model, outputs, told
from support.llama_tools import AADD, ADD, IN_CONTEXT, QUERY, RETRIEVE, in_context


def test_context_is_injected(wrap: Wrap, ax: AX) -> None:
    """A tool that takes a Context gets the workflow's; it is no part of the input, the record or the schema."""
    wrapped = wrap(IN_CONTEXT)
    (output,) = asyncio.run(outputs(ask(wrapped, {"a": 2})))
    assert output.content == "Context:2"
    assert output.raw_input == {"args": (), "kwargs": {"a": 2}}
    assert ax.tasks().tasks[0].payload == {"a": 2}
    for effect in (None, "unsafe"):
        bare = FunctionTool.from_defaults(in_context, name=f"tell_{effect}")
        with pytest.raises(ValueError, match="Context is required"):
            wrap(bare, policy=effect).call(a=1)


def test_an_injected_context_writes_the_agents_state(wrap: Wrap) -> None:
    """The context is the live one: what a tool keeps in it is there afterwards."""

    async def keep(ctx: Context, name: str) -> str:
        """Keep a name."""
        await ctx.store.set("name", name)
        return "kept"

    async def main() -> Any:
        made = ask(wrap(FunctionTool.from_defaults(async_fn=keep)), {"name": "Ann"})
        ctx = Context(made)
        await outputs(made, ctx=ctx)
        return await ctx.store.get("name")

    assert asyncio.run(main()) == "Ann"


class Refused(Exception):
    pass


def test_an_exception_becomes_an_error_output(wrap: Wrap) -> None:
    """As bare: its text for the model, itself in the output, and the agent goes on."""

    def fails(a: int) -> str:
        """Fail."""
        raise Refused("boom")

    (output,) = asyncio.run(outputs(ask(wrap(FunctionTool.from_defaults(fails)), {"a": 1})))
    assert output.is_error
    assert isinstance(output.exception, Refused)
    assert output.content == "boom"


def test_return_direct_ends_the_agent(wrap: Wrap) -> None:
    """With the tool's result as its answer."""
    made = ask(
        wrap(FunctionTool.from_defaults(lambda a: a + 3, name="add", description="d", return_direct=True)),
        {"a": 1},
    )

    async def main() -> str:
        return str(await made.run("go"))

    assert asyncio.run(main()) == "4"


@pytest.mark.parametrize("policies", [None, {"add": "read", "aadd": "unsafe"}])
def test_agents_hand_off(policies: Any, ax: AX) -> None:
    """An AgentWorkflow of two agents, each with wrapped tools, one handing over to the other."""
    first, second = wrap_tools([ADD, AADD], ax, policies=policies)
    a = FunctionAgent(
        name="A",
        description="a",
        tools=[first],
        can_handoff_to=["B"],
        llm=model([("add", {"a": 1})], [("handoff", {"to_agent": "B", "reason": "x"})], "never"),
    )
    b = FunctionAgent(
        name="B", description="b", tools=[second], llm=model("?", "?", [("aadd", {"a": 2})], "B done")
    )
    workflow = AgentWorkflow(agents=[a, b], root_agent="A")

    async def main() -> tuple[list[str], str]:
        handler = workflow.run("go")
        seen = [
            e.tool_output.content
            async for e in handler.stream_events()
            if type(e).__name__ == "ToolCallResult"
        ]
        return seen, str(await handler)

    seen, end = asyncio.run(main())
    assert (seen[0], seen[-1], end) == ("4", "5", "B done")
    assert {task.tool for task in ax.tasks().tasks} == {"add", "aadd"}
    assert len({task.run_id for task in ax.tasks().tasks}) == 1


def test_a_react_agent_reasons_with_them(wrap: Wrap, ax: AX) -> None:
    """Its tool calls have ids of the agent's own making; they are on record all the same."""
    thought = 'Thought: I need to add.\nAction: add\nAction Input: {"a": 1, "b": 2}'
    made = ReActAgent(
        tools=[wrap(ADD)], llm=model(thought, "Thought: I can answer.\nAnswer: 3"), streaming=False
    )
    made.llm.response_generator = _react([thought, "Thought: I can answer.\nAnswer: 3"])
    (output,) = asyncio.run(outputs(made))
    assert output.content == "3"
    (task,) = ax.tasks().tasks
    assert task.request_id is not None
    assert task.address["tool_id"]


def _react(steps: list[str]) -> Any:
    left = iter(steps)

    def said(messages: Any, **_: Any) -> Any:
        from llama_index.core.llms import ChatMessage

        return ChatMessage(role="assistant", content=next(left))

    return said


def test_query_and_retriever_tools_answer_an_agent(ax: AX) -> None:
    """Their text is what the model reads, their raw value what the host gets."""
    tools = wrap_tools([QUERY, RETRIEVE], ax, default_effect="read")
    script = [("query", {"input": "a"}, "q"), ("retrieve", {"input": "b"}, "r")]
    answers = {each.tool_name: each for each in asyncio.run(outputs(agent(tools, script, "done")))}
    assert answers["query"].content == "answer a"
    assert answers["query"].raw_output.response == "answer a"
    assert "about" in answers["retrieve"].content
    assert answers["retrieve"].raw_output[0].score == 0.5


def test_parallel_calls_overlap(wrap: Wrap, ax: AX) -> None:
    """Four naps of one message of the model take as long as one, and their answers are told apart."""

    def nap(x: int) -> str:
        """Nap."""
        time.sleep(0.4)
        return f"woke {x}"

    made = agent(
        [wrap(FunctionTool.from_defaults(nap))], [("nap", {"x": i}, f"t{i}") for i in range(4)], "done"
    )
    begun = time.monotonic()
    answers = told(made)
    assert time.monotonic() - begun < 1.2
    assert sorted(answers) == [f"woke {i}" for i in range(4)]
    assert len({task.request_id for task in ax.tasks().tasks}) == 4


def test_cancelling_a_run_reaches_the_tool(wrap: Wrap, ax: AX) -> None:
    """A workflow's timeout cancels the coroutine; the record says that nobody knows what it did."""
    state: dict[str, Any] = {}

    async def slow() -> str:
        """Take long."""
        try:
            await asyncio.sleep(30)
        except asyncio.CancelledError:
            state["cancelled"] = True
            raise
        return "never"

    async def main() -> float:
        handler = agent(
            [wrap(FunctionTool.from_defaults(async_fn=slow))], [("slow", {})], "d", timeout=1.5
        ).run("go")
        begun = time.monotonic()
        with pytest.raises(Exception, match="timed out"):
            await handler
        return time.monotonic() - begun

    assert asyncio.run(main()) < 6
    assert state == {"cancelled": True}
    (task,) = ax.tasks().tasks
    assert (str(task.state), task.reason) == ("QUARANTINE", "outcome_unknown")


def test_cancelling_a_run_does_not_wait_for_a_function(wrap: Wrap, ax: AX) -> None:
    """Nor for its loop: the thread goes on, and puts on record what it did after all."""

    def slow() -> str:
        """Take long."""
        time.sleep(3.5)
        return "late"

    async def main() -> float:
        handler = agent([wrap(FunctionTool.from_defaults(slow))], [("slow", {})], "d", timeout=1.5).run("go")
        begun = time.monotonic()
        with pytest.raises(Exception, match="timed out"):
            await handler
        return time.monotonic() - begun

    begun = time.monotonic()
    assert asyncio.run(main()) < 2.5
    assert time.monotonic() - begun < 2.8
    for _ in range(100):
        (task,) = ax.tasks().tasks
        if str(task.state) == "SUCCESS":
            break
        time.sleep(0.05)
    assert task.result.content == "late"


def test_a_tool_that_the_agent_does_not_have_leaves_no_record(wrap: Wrap, ax: AX) -> None:
    """LlamaIndex answers that itself."""
    (answer,) = told(agent([wrap(ADD)], [("subtract", {"a": 1})], "done"))
    assert "not found" in answer
    assert ax.tasks().tasks == ()


@pytest.mark.parametrize("said", ["go", "go on"])
def test_a_turn_is_one_run(said: str, ax: AX) -> None:
    """What was called between two things the user said is one run, also where he says the same again."""
    (add,) = wrap_tools([ADD], ax, default_effect="read")
    made = agent([add], [("add", {"a": 1})], [("add", {"a": 2})], "done")

    async def main() -> None:
        ctx = Context(made)
        await outputs(made, ctx=ctx, said="go")
        await outputs(made, ctx=ctx, said=said)

    asyncio.run(main())
    runs = [task.run_id for task in ax.tasks().tasks]
    assert runs[0] == runs[1] != runs[2] == runs[3]
    assert len({task.session for task in ax.tasks().tasks}) == 1


def test_the_conversation_can_be_named(ax: AX) -> None:
    """``ax_scope``, set before the first turn, is the session on record."""
    (add,) = wrap_tools([ADD], ax, default_effect="read")
    made = ask(add, {"a": 1})

    async def main() -> None:
        ctx = Context(made)
        await ctx.store.set("ax_scope", "conversation-42")
        await outputs(made, ctx=ctx)

    asyncio.run(main())
    assert ax.tasks().tasks[0].session == "conversation-42"


def test_calls_inside_a_run_belong_to_it(ax: AX) -> None:
    """``ax.run`` around an agent is the run of its calls, also of those in its workers."""
    (add,) = wrap_tools([ADD], ax, default_effect="read")

    async def main() -> str:
        async with ax.run(session="s", intent="sum") as run:
            await outputs(ask(add, {"a": 1}))
        return run.id

    run_id = asyncio.run(main())
    assert [task.run_id for task in ax.tree(run_id).tasks] == [run_id]
