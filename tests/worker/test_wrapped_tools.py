"""Framework tools, wrapped in a module of ``imports``, run in workers; to their agent they are the tools they were."""

import asyncio
import importlib
import os
import sys
from collections.abc import Iterator
from typing import Annotated, Any

import pytest
from langchain.tools import ToolRuntime
from langchain_core.messages import ToolMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import InjectedToolCallId, StructuredTool
from llama_index.core.tools import FunctionTool
from llama_index.core.workflow import Context

from ax_adapters.langchain import wrap_tool
from ax_adapters.llama_index import ApprovalRequired, waking
from ax_adapters.llama_index import wrap_tool as wrap_index_tool
from ax_core import AX, PolicyError
from support.llama import ask
from support.workers import WorkerProcess

pytestmark = pytest.mark.slow


def injected(
    n: int, config: RunnableConfig, runtime: ToolRuntime, call_id: Annotated[str, InjectedToolCallId]
) -> int:
    return n


def in_a_workflow(ctx: Context, n: int) -> int:
    return n


def imported(name: str, shop: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The module as this process has it, and a worker that has imported it too."""
    monkeypatch.setenv("SHOP_URL", shop.url)
    monkeypatch.setenv("SHOP_QUEUE", shop.queue)
    monkeypatch.setenv("SHOP_WORLD", str(shop.world.port))
    sys.modules.pop(name, None)
    module: Any = importlib.import_module(name)
    with WorkerProcess(shop.folder, shop.url, shop.queue, shop.world.port, target=f"{name}:ax") as worker:
        module.worker = worker.child.pid
        yield module
    module.ax.close(drain=0)
    sys.modules.pop(name, None)


@pytest.fixture
def chain(on_file: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    yield from imported("support.chain_shop", on_file, monkeypatch)


@pytest.fixture
def index(on_file: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    yield from imported("support.index_shop", on_file, monkeypatch)


def call(module: Any, name: str, **args: Any) -> Any:
    """A call as an agent makes it."""
    (tool,) = (t for t in module.tools if t.name == name)
    return tool.invoke({"type": "tool_call", "name": name, "args": args, "id": f"call-{name}"})


def test_a_wrapped_tool_runs_in_a_worker_and_answers_its_agent(chain: Any, on_file: Any) -> None:
    answer = call(chain, "refund", order="7", amount=10)
    (effect,) = on_file.effects("7")
    assert effect["pid"] == chain.worker
    assert isinstance(answer, ToolMessage)
    assert (answer.name, answer.tool_call_id, answer.status) == ("refund", "call-refund", "success")
    assert str(effect["seq"]) in answer.text


async def test_an_async_tool_runs_on_the_loop_of_the_worker(chain: Any) -> None:
    (tool,) = (t for t in chain.tools if t.name == "look")
    for _ in range(3):  # one and the same for all
        assert await tool.ainvoke({"order": "7"}) == {"order": "7", "pid": chain.worker, "loops": 1}


def test_an_artifact_comes_back(chain: Any) -> None:
    answer = call(chain, "invoice", order="7")
    assert answer.content == "invoice of 7"
    assert answer.artifact == {"pid": chain.worker}


def test_a_tool_that_is_given_more_than_its_arguments_stays_here_and_that_is_said(
    chain: Any, caplog: pytest.LogCaptureFixture
) -> None:
    (tool,) = (t for t in chain.tools if t.name == "whoami")
    said = tool.invoke({}, config={"configurable": {"thread_id": "t1"}})
    assert said == {"thread": "t1", "pid": os.getpid()}
    told = "'whoami' runs in this process, not in a worker: its framework gives it more than its arguments (config)"
    assert any(told in record.getMessage() for record in caplog.get_records("setup"))  # as it is wrapped


@pytest.mark.parametrize(
    ("wrap", "tool", "names"),
    [
        (wrap_tool, StructuredTool.from_function(injected, description="d"), "call_id, config, runtime"),
        (wrap_index_tool, FunctionTool.from_defaults(in_a_workflow), "ctx"),
    ],
    ids=["langchain", "llama_index"],
)
def test_where_worker_is_refused_for_what_only_the_caller_has(wrap: Any, tool: Any, names: str) -> None:
    """At wrapping, by the parameters' names: a worker could not give them to the tool."""
    with AX("sqlite://", queue="redis://localhost:1") as ax:
        with pytest.raises(PolicyError, match=f"'worker', but only the process that calls it has .* {names}"):
            wrap(tool, ax, policy={"effect": "read", "where": "worker"})
        assert len(ax.tools) == 0


def test_what_a_tool_raises_in_a_worker_reaches_the_agent(chain: Any) -> None:
    """An exception of the same type and words: the framework handles it as if it had been raised here."""
    with pytest.raises(ValueError, match="no order 7"):
        call(chain, "broken", order="7")


async def test_llama_index_tools_run_in_a_worker_too(index: Any, on_file: Any) -> None:
    """Sync and async, with the output that their framework makes of it."""
    refund, look, broken = index.tools
    output = refund.call(order="7", amount=10)
    (effect,) = on_file.effects("7")
    assert effect["pid"] == index.worker
    assert output.tool_name == "refund"
    assert output.raw_output == {"receipt": effect["seq"]}
    assert output.is_error is False
    assert (await look.acall(order="8")).content == f"8 by {index.worker}"
    with pytest.raises(ValueError, match="no order 9"):
        broken.call(order="9")


async def test_a_workflow_hears_through_the_queue_that_another_process_decided(
    on_file: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At once: the record is read again only for when the word was lost."""
    monkeypatch.setattr(waking, "FIRST_LOOK", 60.0)
    done: list[int] = []

    def pay(n: int) -> str:
        """Pay."""
        done.append(n)
        return f"paid {n}"

    with AX(on_file.url, queue=on_file.queue) as ax, AX(on_file.url, queue=on_file.queue) as elsewhere:
        tool = wrap_index_tool(pay, ax, policy={"effect": "unsafe", "confirm": True, "where": "here"})
        handler = ask(tool, {"n": 1}).run("go")
        async with asyncio.timeout(20):
            async for event in handler.stream_events():
                if isinstance(event, ApprovalRequired):
                    await asyncio.sleep(1.0)  # it waits by then, and listens
                    assert (await elsewhere.aconfirm(event.ax_task_id, by="ops")).done
            await handler
    assert done == [1]
