"""A CodeActAgent has code call functions: wrapped tools give it functions that go through AX."""

# No postponed annotations: LlamaIndex compares the raw ones of a tool with Context.
import asyncio
import contextlib
import inspect
import io
import logging
import threading
from typing import Any

import pytest
from llama_index.core.agent.workflow import CodeActAgent
from llama_index.core.tools import FunctionTool

from ax_adapters.llama_index import functions, wrap_tool, wrap_tools
from ax_core import AX, InvalidArguments, PolicyError
from support.llama import THREADS_HAVE_CONTEXT, Saved, Wrap, model, outputs
from support.llama_tools import AADD, ADD, IN_CONTEXT, QUERY, add

in_threads = pytest.mark.skipif(
    not THREADS_HAVE_CONTEXT, reason="this LlamaIndex runs code in a thread that knows of no workflow"
)
CODE = "x = pay(n=1)\nprint(x, pay(n=2))"


def sandbox(places: dict[str, Any], seen: list[str] | None = None) -> Any:
    """Runs code in this process, as the examples of LlamaIndex do."""

    def execute(code: str) -> str:
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            exec(code, dict(places))
        if seen is not None:
            seen.append("executed")
        return said.getvalue()

    return execute


def test_the_functions_look_like_the_tools_own(ax: AX) -> None:
    """Name, signature and docstring, by which the agent describes them to its model; sync and async."""
    made = functions(wrap_tools([ADD, AADD], ax))
    assert list(made) == ["add", "aadd"]
    assert inspect.signature(made["add"]) == inspect.signature(add)
    assert (made["add"].__name__, made["add"].__doc__) == ("add", "Add.")
    assert made["add"](1, b=2) == 3
    assert asyncio.run(made["aadd"](a=1)) == 4
    assert [task.tool for task in ax.tasks().tasks] == ["aadd", "add"]


@in_threads
def test_code_calls_tools_under_ax(ax: AX, caplog: Any) -> None:
    """Each call of the code is a task of its own."""
    paid: list[int] = []

    def pay(n: int) -> str:
        """Pay."""
        paid.append(n)
        return f"paid {n}"

    tools = wrap_tools([pay], ax)
    made = CodeActAgent(
        code_execute_fn=sandbox(functions(tools)),
        tools=tools,
        llm=model(f"<execute>{CODE}</execute>", "done"),
    )
    with caplog.at_level(logging.WARNING, "ax"):
        (output,) = asyncio.run(outputs(made))
    assert "paid 1 paid 2" in output.content
    assert "sandbox" not in caplog.text
    assert paid == [1, 2]
    assert len({task.request_id for task in ax.tasks().tasks}) == 2


@in_threads
@pytest.mark.guarantee
def test_code_that_is_executed_again_repeats_nothing(ax: AX) -> None:
    """A workflow resumed from a context that was saved while code ran executes the code again: its calls are known."""
    paid: list[int] = []
    seen: list[str] = []
    kept = threading.Event()

    def pay(n: int) -> str:
        """Pay."""
        assert kept.wait(20)  # the context is saved while this runs
        paid.append(n)
        return f"paid {n}"

    tools = wrap_tools([pay], ax)
    made = CodeActAgent(
        code_execute_fn=sandbox(functions(tools), seen),
        tools=tools,
        llm=model(f"<execute>{CODE}</execute>", "done"),
    )

    async def main() -> None:
        from llama_index.core.agent.workflow import ToolCall

        handler = made.run("go")
        saved = None
        async for event in handler.stream_events():
            if isinstance(event, ToolCall) and saved is None:
                saved = Saved.of(handler.ctx)
                kept.set()
        await handler
        await outputs(made, ctx=Saved.again(made, saved or {}), said="")

    asyncio.run(main())
    assert len(seen) >= 2
    assert paid == [1, 2]


def test_a_verdict_raises_in_the_code(ax: AX) -> None:
    """There is no model to tell it to but through what the code prints or raises."""
    (pay,) = functions([wrap_tool(FunctionTool.from_defaults(add, name="pay"), ax, policy="unsafe")]).values()
    with pytest.raises(InvalidArguments):
        pay(a="x")


def test_the_tools_own_exception_raises_in_the_code(ax: AX) -> None:
    """As it does without AX."""

    def fails() -> str:
        """Fail."""
        raise KeyError("gone")

    with pytest.raises(KeyError):
        functions([wrap_tool(fails, ax)])["fails"]()


@pytest.mark.parametrize(
    ("tool", "reason"),
    [(QUERY, "QueryEngineTool"), (IN_CONTEXT, "Context"), (ADD, "not wrapped")],
)
def test_what_code_cannot_call_is_refused_at_once(tool: Any, reason: str, ax: AX) -> None:
    """With the tool's name and the reason."""
    given = tool if tool is ADD else wrap_tool(tool, ax)
    with pytest.raises(PolicyError, match=reason) as caught:
        functions([given])
    assert tool.metadata.name in str(caught.value)


def test_the_agent_itself_gets_functions_that_dispatch(wrap: Wrap, ax: AX, caplog: Any) -> None:
    """Wrapped tools given to the agent as they are: what it takes of them goes through AX, and a warning says what
    the sandbox needs."""
    wrapped = wrap(ADD)
    made = CodeActAgent(tools=[wrapped], llm=model("x"), code_execute_fn=lambda code: code)
    with caplog.at_level(logging.WARNING, "ax"):
        (fn,) = made._get_tool_fns([wrapped])
    assert fn(a=1) == 4
    assert fn.__name__ == "add"
    assert len(ax.tasks().tasks) == 1
    assert "sandbox" in caplog.text
    assert wrapped.real_fn is ADD.real_fn
