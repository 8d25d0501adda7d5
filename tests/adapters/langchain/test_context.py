"""What surrounds a call: config, callbacks, context variables and what LangGraph injects, at the tool as before."""

# No postponed annotations here: LangChain reads the raw ones.
import asyncio
import contextvars
from typing import Annotated, Any

import pytest
from langchain.agents import create_agent
from langchain.tools import InjectedState, InjectedStore, ToolRuntime
from langchain_core.runnables import RunnableConfig, RunnableLambda
from langchain_core.tools import BaseTool, tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.config import get_stream_writer
from langgraph.store.memory import InMemoryStore

from ax_core import AX
from support.driving import Drive, Wrap, alike, call_of
from support.hearing import Hearing
from support.sample_tools import add, fancy, raising
from support.scripted import Scripted, answers, said, thread, told

TENANT = contextvars.ContextVar("tenant", default="nobody")


def test_the_config_is_injected_under_any_name(wrap: Wrap, drive: Drive) -> None:
    """A parameter annotated RunnableConfig gets the caller's config, whatever it is called, and no model sees it."""
    seen: dict[str, Any] = {}

    @tool
    def look(a: int, given: RunnableConfig) -> str:
        """Looks."""
        seen.update(given)
        return "ok"

    wrapped = wrap(look)
    drive(wrapped, {"a": 1}, {"configurable": {"user": "u1"}, "tags": ["x"], "metadata": {"m": 2}})
    assert (seen["configurable"]["user"], seen["metadata"]["m"]) == ("u1", 2)
    assert "x" in seen["tags"]
    assert "given" not in wrapped.args


def test_context_variables_reach_the_body(wrap: Wrap) -> None:
    """A sync tool, an async one, and a sync one under ainvoke see what the caller set."""

    @tool
    def here(a: int) -> str:
        """Looks."""
        return TENANT.get()

    @tool
    async def there(a: int) -> str:
        """Looks."""
        return TENANT.get()

    async def all_of_them() -> tuple[str, str]:
        return await wrap(there).ainvoke({"a": 1}), await wrap(here).ainvoke({"a": 1})

    token = TENANT.set("t1")
    try:
        assert wrap(here).invoke({"a": 1}) == "t1"
        assert asyncio.run(all_of_them()) == ("t1", "t1")
    finally:
        TENANT.reset(token)


def test_callbacks_hear_what_they_heard_before(wrap: Wrap, drive: Drive) -> None:
    """Exactly one start and one end, with the same inputs, tags, metadata and tool call id."""

    def heard(made: BaseTool) -> list[tuple[Any, ...]]:
        hearing = Hearing()
        drive(
            made, call_of(made, {"q": "a"}), {"callbacks": [hearing], "tags": ["cfg"], "metadata": {"cm": 1}}
        )
        return hearing.facts

    assert heard(wrap(fancy)) == heard(fancy)


def test_an_error_is_heard_once(wrap: Wrap, drive: Drive) -> None:
    """One start and one error, of the tool's own exception."""
    hearing = Hearing()
    with pytest.raises(ValueError):
        drive(wrap(raising(ValueError("x"))), {"a": 1}, {"callbacks": [hearing]})
    assert hearing.kinds == ["start", "error"]
    assert hearing.facts[1] == ("error", "ValueError")


def test_runs_inside_nest_under_the_tools_run(wrap: Wrap, drive: Drive) -> None:
    """What the body invokes is a child of the tool's own run."""
    inner = RunnableLambda(lambda x: x)

    @tool
    def outer(a: int) -> int:
        """Invokes."""
        return inner.invoke(a)

    @tool
    async def awaiting(a: int) -> int:
        """Invokes."""
        return await inner.ainvoke(a)

    hearing = Hearing()
    drive(wrap(awaiting if drive.is_async else outer), {"a": 1}, {"callbacks": [hearing]})
    assert ("chain", hearing.tool_run) in hearing.heard


def test_the_tool_call_id_is_injected(wrap: Wrap) -> None:
    """A parameter that takes it gets it; without one the framework's own error stands."""
    wrapped = wrap(fancy)
    assert wrapped.invoke(call_of(fancy, {"q": "a"}, "ID7")).content == "a/ID7/s"
    assert alike(fancy, wrapped, {"q": "a"})[0] == "raised"


def test_state_store_and_runtime_are_injected_and_never_recorded(seam: Wrap, drive: Drive, ax: AX) -> None:
    """Functions and classes get what LangGraph injects; the record holds the model's arguments alone."""

    @tool
    def state(x: int, state: Annotated[dict, InjectedState]) -> str:
        """Counts."""
        return f"n={len(state['messages'])}"

    @tool
    def store(x: int, store: Annotated[Any, InjectedStore()]) -> str:
        """Puts."""
        store.put(("ns",), "k", {"v": x})
        return "put"

    @tool
    def runtime(x: int, runtime: ToolRuntime) -> str:
        """Looks."""
        return (
            f"{runtime.tool_call_id}/{runtime.config['configurable'].get('thread_id')}/{len(runtime.tools)}"
        )

    class Klass(BaseTool):
        name: str = "klass"
        description: str = "looks"

        def _run(self, a: int, runtime: ToolRuntime) -> str:
            return f"k{runtime.tool_call_id}"

    kept = InMemoryStore()
    script = [
        [
            ("state", {"x": 1}, "1"),
            ("store", {"x": 2}, "2"),
            ("runtime", {"x": 3}, "3"),
            ("klass", {"a": 4}, "4"),
        ],
        "done",
    ]
    tools = [seam(each) for each in (state, store, runtime, Klass())]
    agent = create_agent(Scripted(script=script), tools, checkpointer=InMemorySaver(), store=kept)
    assert told(drive(agent, said(), thread())) == ["n=2", "put", "3/T/4", "k4"]
    assert kept.get(("ns",), "k").value == {"v": 2}
    assert {task.tool: task.payload for task in ax.tasks().tasks} == {
        "state": {"x": 1},
        "store": {"x": 2},
        "runtime": {"x": 3},
        "klass": {"a": 4},
    }


def test_injected_arguments_cannot_be_forged(seam: Wrap, drive: Drive, ax: AX) -> None:
    """What a model claims to be the state is dropped, and is in no record and no identity."""

    @tool
    def state(x: int, state: Annotated[dict, InjectedState]) -> str:
        """Counts."""
        return f"n={len(state['messages'])}"

    script = [[("state", {"x": 1, "state": {"messages": []}}, "1")], "done"]
    assert told(drive(create_agent(Scripted(script=script), [seam(state)]), said())) == ["n=2"]
    (task,) = ax.tasks().tasks
    assert task.payload == {"x": 1}


def test_an_identity_is_the_same_whatever_was_injected(seam: Wrap, ax: AX) -> None:
    """Two calls with equal visible arguments have equal hashes, though their state differs."""

    @tool
    def state(x: int, secret: Annotated[dict, InjectedState]) -> int:
        """Counts."""
        return len(secret["messages"])

    agent = create_agent(
        Scripted(script=[[("state", {"x": 1})], [("state", {"x": 1})], "done"]), [seam(state)]
    )
    result = agent.invoke(said())
    assert told(result) == ["2", "4"]
    with ax._core.wiring("default").db.engine.connect() as connection:
        hashes = connection.exec_driver_sql("SELECT DISTINCT args_hash FROM ax_task").fetchall()
    assert len(hashes) == 1


def test_streams_carry_what_tools_write(seam: Wrap, drive: Drive) -> None:
    """Stream writers and output deltas arrive, and the events of a tool are complete and in order."""

    def writes(runtime: ToolRuntime) -> str:
        get_stream_writer()({"p": 1})
        runtime.stream_writer({"p": 2})
        runtime.emit_output_delta("d1")
        return "ok"

    @tool
    def write(x: int, runtime: ToolRuntime) -> str:
        """Writes."""
        return writes(runtime)

    @tool
    async def awrite(x: int, runtime: ToolRuntime) -> str:
        """Writes."""
        return writes(runtime)

    made = seam(awrite if drive.is_async else write)
    agent = create_agent(Scripted(script=[[(made.name, {"x": 1})], "done"]), [made])

    async def streamed() -> list[Any]:
        return [event async for event in agent.astream(said(), stream_mode=["custom", "tools"])]

    events = (
        asyncio.run(streamed())
        if drive.is_async
        else list(agent.stream(said(), stream_mode=["custom", "tools"]))
    )
    assert [event for mode, event in events if mode == "custom"] == [{"p": 1}, {"p": 2}]
    kinds = [event["event"] for mode, event in events if mode == "tools"]
    assert kinds == ["tool-started", "tool-output-delta", "tool-finished"]


def test_streamed_events_are_the_same(wrap: Wrap) -> None:
    """astream_events tells the same story of a wrapped tool as of a bare one."""

    async def events(made: BaseTool) -> list[tuple[Any, ...]]:
        return [
            (event["event"], event["name"], type(event["data"].get("output")), event["data"].get("input"))
            async for event in made.astream_events({"a": 1}, version="v2")
        ]

    assert asyncio.run(events(wrap(add))) == asyncio.run(events(add))


def test_errors_shown_to_the_model_hold_no_injected_value(seam: Wrap, drive: Drive, ax: AX) -> None:
    """A wrong argument is answered with the visible names only, in the message and in the record."""

    @tool
    def state(x: int, state: Annotated[dict, InjectedState]) -> str:
        """Counts."""
        return "never"

    agent = create_agent(Scripted(script=[[("state", {"x": "no"})], "done"]), [seam(state)])
    (message,) = answers(drive(agent, {"messages": [("user", "the-password")]}))
    (task,) = ax.tasks().tasks
    assert message.status == "error"
    assert "the-password" not in message.text + str(task.payload) + str(task.error)
