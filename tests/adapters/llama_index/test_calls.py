"""Every way to call a tool gives what it gives without AX."""

# No postponed annotations: LlamaIndex compares the raw ones of a tool with Context.
import asyncio
import contextvars
import threading
from typing import Any

import pytest
from llama_index.core.base.llms.types import ImageBlock, TextBlock
from llama_index.core.instrumentation import get_dispatcher
from llama_index.core.instrumentation.span_handlers import SimpleSpanHandler
from llama_index.core.schema import Document
from llama_index.core.tools import BaseTool, FunctionTool, ToolOutput
from llama_index.core.tools.calling import acall_tool, call_tool
from pydantic import Field

from ax_core import AX
from support.llama import CALLS_ONCE, Call, Wrap
from support.llama_tools import AADD, ADD, BOTH, QUERY, RETRIEVE, Own, SyncOnly

STYLES: list[tuple[tuple[Any, ...], dict[str, Any]]] = [
    ((), {"a": 1}),
    ((1,), {}),
    ((1, 2), {}),
    ((), {"a": 1, "b": 5}),
]


def made_by(fn: Any, **more: Any) -> FunctionTool:
    return FunctionTool.from_defaults(fn, name="f", description="d", **more)


@pytest.mark.parametrize("tool", [ADD, AADD, BOTH], ids=["add", "aadd", "both"])
def test_call_paths_give_equal_outputs(tool: BaseTool, wrap: Wrap) -> None:
    """call, acall and calling it itself, by position and by name: equal outputs, raw_input included."""
    wrapped = wrap(tool)
    for args, kwargs in STYLES:
        assert wrapped.call(*args, **kwargs) == tool.call(*args, **kwargs)
        assert wrapped(*args, **kwargs) == tool(*args, **kwargs)
        assert asyncio.run(wrapped.acall(*args, **kwargs)) == asyncio.run(tool.acall(*args, **kwargs))


def test_a_tool_with_nothing_but_call_is_called(wrap: Wrap, ax: AX) -> None:
    """A plain BaseTool, by position and by name, and through LlamaIndex's adapter for agents."""
    wrapped = wrap(SyncOnly())
    assert wrapped("hi").content == SyncOnly()("hi").content
    assert wrapped(a=1) == SyncOnly()(a=1)
    output = asyncio.run(acall_tool(wrapped, {"input": "x"}))
    assert output.content == "so x"
    assert [task.payload for task in ax.tasks().tasks][:1] == [{"a": "x"}]


def test_a_class_of_ones_own_runs_once(wrap: Wrap, ax: AX) -> None:
    """An acall that comes back through call is one call, on record once."""
    tool = Own()
    wrapped = wrap(tool)
    assert asyncio.run(wrapped.acall(a=1)).content == "own {'a': 1}"
    assert tool.seen == [{"a": 1}]
    assert len(ax.tasks().tasks) == 1


@pytest.mark.parametrize("tool", [QUERY, RETRIEVE], ids=["query", "retrieve"])
def test_query_and_retriever_tools_take_every_style(tool: BaseTool, wrap: Wrap, call: Call) -> None:
    """By position, by the schema's name, and by a name that the model made up."""
    wrapped = wrap(tool)
    for args, kwargs in ((("hi",), {}), ((), {"input": "hi"}), ((), {"x": "hi"})):
        answer = call(wrapped, *args, **kwargs)
        bare = call(tool, *args, **kwargs)
        assert (answer.content, answer.raw_input) == (bare.content, bare.raw_input)


class Thing:
    """No JSON of it."""


def test_raw_output_is_the_same_object(wrap: Wrap, call: Call) -> None:
    """The first execution hands over the object itself, also one that cannot be stored."""
    thing = Thing()
    assert call(wrap(made_by(lambda: thing))).raw_output is thing


@pytest.mark.parametrize(
    "value",
    [
        "s",
        None,
        {"k": 1},
        TextBlock(text="x"),
        [TextBlock(text="x"), ImageBlock(image=b"abc")],
        Document(text="doc"),
        [Document(text="d1")],
        [],
        (1, 2),
    ],
    ids=lambda value: type(value).__name__,
)
def test_blocks_and_content_are_equal(value: Any, wrap: Wrap, call: Call) -> None:
    """What the model reads, for each shape that a tool may return."""
    bare = made_by(lambda: value)
    one, other = bare.call(), call(wrap(bare))
    assert [block.model_dump() for block in one.blocks] == [block.model_dump() for block in other.blocks]
    assert type(one.raw_output) is type(other.raw_output)


async def _say(result: Any) -> str:
    return f"async {result}"


@pytest.mark.parametrize(
    "callbacks",
    [
        {"callback": lambda result: f"cb {result}"},
        {
            "callback": lambda result: ToolOutput(
                content="own", tool_name="g", raw_input={}, raw_output=result
            )
        },
        {"async_callback": _say},
        {"callback": lambda result: f"cb {result}", "async_callback": _say},
    ],
)
def test_callbacks_change_the_output(callbacks: dict[str, Any], wrap: Wrap, call: Call) -> None:
    """A callback's text or output stands in the place of the tool's, and its coroutine runs on the caller's loop."""
    bare = made_by(lambda: 4, **callbacks)
    assert call(wrap(bare)) == call(bare)


@pytest.mark.skipif(not CALLS_ONCE, reason="this LlamaIndex runs every failing tool of one argument twice")
def test_call_tool_never_runs_a_failing_tool_twice(wrap: Wrap) -> None:
    """LlamaIndex tries a tool of one argument a second time, unless it is an instance of FunctionTool."""
    charged = []

    def charge(amount: int) -> str:
        charged.append(amount)
        raise RuntimeError("timeout after commit")

    wrapped = wrap(FunctionTool.from_defaults(charge))
    assert call_tool(wrapped, {"amount": 1}).is_error
    assert charged == [1]
    assert asyncio.run(acall_tool(wrapped, {"amount": 1})).is_error
    assert charged == [1, 1]


class Refused(Exception):
    code = 7


def test_the_tools_own_exception_passes(wrap: Wrap, call: Call) -> None:
    """With its type and attributes, and the user's own line in its traceback."""

    def fails() -> str:
        raise Refused("boom")

    with pytest.raises(Refused) as caught:
        call(wrap(made_by(fails)))
    assert caught.value.code == 7
    assert any(entry.name == "fails" for entry in caught.traceback)


def test_partial_params_and_field_defaults(wrap: Wrap, call: Call, ax: AX) -> None:
    """They are filled in as without AX; a partial parameter is the host's: not shown to the model, not on record."""

    def about(a: int, tenant: str, k: int = Field(default=9, description="k")) -> str:
        return f"{a}{tenant}{k}"

    bare = FunctionTool.from_defaults(about, partial_params={"tenant": "T"})
    wrapped = wrap(bare)
    assert call(wrapped, a=1) == call(bare, a=1)
    assert wrapped(a=1).content == bare(a=1).content
    assert "tenant" not in wrapped.metadata.get_parameters_dict()["properties"]
    assert {str(task.payload) for task in ax.tasks().tasks} == {"{'a': 1}"}


def test_an_async_tool_runs_on_the_callers_loop_and_a_function_off_it(wrap: Wrap) -> None:
    """Objects that are bound to a loop go on working; a blocking function blocks nobody."""

    async def loop_of() -> int:
        return id(asyncio.get_running_loop())

    async def main() -> tuple[bool, bool]:
        output = await wrap(FunctionTool.from_defaults(async_fn=loop_of)).acall()
        where = await wrap(made_by(lambda: threading.get_ident())).acall()
        return output.raw_output == id(asyncio.get_running_loop()), where.raw_output != threading.get_ident()

    assert asyncio.run(main()) == (True, True)


VAR: contextvars.ContextVar[str] = contextvars.ContextVar("var", default="unset")


def test_context_variables_are_seen(wrap: Wrap, call: Call) -> None:
    """In a function and in a coroutine."""
    token = VAR.set("hi")
    try:
        assert call(wrap(made_by(lambda: VAR.get()))).content == "hi"

        async def read() -> str:
            return VAR.get()

        assert call(wrap(FunctionTool.from_defaults(async_fn=read))).content == "hi"
    finally:
        VAR.reset(token)


@pytest.mark.parametrize("tool", [ADD, AADD, Own()], ids=["add", "aadd", "own"])
def test_traces_show_the_same_spans(tool: BaseTool, wrap: Wrap) -> None:
    """As many, with the same names."""

    def spans(each: Any) -> list[str]:
        handler, dispatcher = SimpleSpanHandler(), get_dispatcher()
        dispatcher.add_span_handler(handler)
        try:
            each.call(a=1)
            asyncio.run(each.acall(a=1))
        finally:
            dispatcher.span_handlers.remove(handler)
        return sorted(span.id_.rsplit("-", 5)[0] for span in handler.completed_spans)

    assert spans(wrap(tool)) == spans(tool) != []


def test_a_sync_call_inside_a_running_loop_works(wrap: Wrap) -> None:
    """Of a coroutine function, as LlamaIndex allows it."""

    async def main() -> str:
        return wrap(AADD).call(a=1).content

    assert asyncio.run(asyncio.wait_for(main(), 10)) == "4"


def test_every_call_is_on_record(wrap: Wrap, call: Call, ax: AX) -> None:
    """What was asked and what it came to; a call outside a workflow is a new one each time."""
    wrapped = wrap(ADD)
    call(wrapped, a=1)
    call(wrapped, a=1)
    first, second = ax.tasks().tasks
    assert first.tool == second.tool == "add"
    assert first.payload == {"a": 1}
    assert first.result.raw_output == 4
    assert first.request_id is None
