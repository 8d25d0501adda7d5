"""Which call is it: the same when a workflow is resumed, another in another round, turn or conversation."""

# No postponed annotations: LlamaIndex compares the raw ones of a tool with Context.
import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from llama_index.core.agent.workflow import AgentOutput, FunctionAgent, ToolCall, ToolCallResult
from llama_index.core.tools import FunctionTool
from llama_index.core.workflow import Context, StartEvent, StopEvent, Workflow, step

from ax_adapters.llama_index import wrap_tool
from ax_core import AX, Policy
from support.llama import Model, Saved, Script, Wrap, agent, ask, model, outputs

guarantee = pytest.mark.guarantee


def paying(paid: list[int], seconds: float = 0.0) -> FunctionTool:
    async def pay(n: int) -> str:
        """Pay."""
        paid.append(n)
        await asyncio.sleep(seconds)
        return f"paid {n}"

    return FunctionTool.from_defaults(async_fn=pay)


async def until(handler: Any, kind: type) -> dict[str, Any]:
    """The context as it is when the first event of a kind is told; the run is cancelled then."""
    async for event in handler.stream_events():
        if isinstance(event, kind):
            saved = Saved.of(handler.ctx)
            await handler.cancel_run()
            return saved
    raise AssertionError("no such event")


@guarantee
@pytest.mark.parametrize("form", ["async", "sync"])
def test_an_effect_in_flight_is_not_repeated_on_resume(form: str, wrap: Wrap) -> None:
    """The context was saved and the run cancelled while the tool acted: resumed, the tool is not run again."""
    paid: list[int] = []

    def pay(n: int) -> str:
        """Pay."""
        import time

        paid.append(n)
        time.sleep(0.6)
        return f"paid {n}"

    wrapped = wrap(paying(paid, 3.0) if form == "async" else FunctionTool.from_defaults(pay))

    async def main() -> tuple[str, list[str]]:
        made = ask(wrapped, {"n": 1})
        handler = made.run("go")
        while not paid:
            await asyncio.sleep(0.01)
        saved = Saved.of(handler.ctx)
        await handler.cancel_run()
        answers = [each.content for each in await outputs(made, ctx=Saved.again(made, saved), said="")]
        return answers[0], answers[1:]

    answer, more = asyncio.run(asyncio.wait_for(main(), 20))
    assert (paid, more) == ([1], [])
    # A thread cannot be cancelled, so its result is there; of a coroutine that was, nobody knows what it did.
    assert (answer == "paid 1") if form == "sync" else answer.startswith("UNKNOWN OUTCOME"), answer


@guarantee
def test_a_finished_call_is_answered_from_the_record(wrap: Wrap) -> None:
    """The context was saved before the call had ended; the resumed agent gets the result that it had."""
    paid: list[int] = []

    async def main() -> list[Any]:
        made = ask(wrap(paying(paid)), {"n": 1})
        handler = made.run("go")
        saved = None
        async for event in handler.stream_events():
            if isinstance(event, ToolCall) and not isinstance(event, ToolCallResult) and saved is None:
                saved = Saved.of(handler.ctx)
        await handler
        return await outputs(made, ctx=Saved.again(made, saved or {}), said="")

    answer, *_ = asyncio.run(main())  # LlamaIndex hands a call out again that it was handing out
    assert (answer.content, answer.is_error, answer.raw_output) == ("paid 1", False, "paid 1")
    assert answer.raw_input == {"args": (), "kwargs": {"n": 1}}
    assert paid == [1]


@guarantee
def test_a_context_saved_before_the_call_was_made_knows_it_again(wrap: Wrap) -> None:
    """The model had decided, and no tool was called yet: the conversation has its name by then."""
    paid: list[int] = []

    async def main() -> list[str]:
        made = ask(wrap(paying(paid)), {"n": 1})
        handler = made.run("go")
        saved = None
        async for event in handler.stream_events():
            if isinstance(event, AgentOutput) and event.tool_calls and saved is None:
                saved = Saved.of(handler.ctx)
        await handler
        return [each.content for each in await outputs(made, ctx=Saved.again(made, saved or {}), said="")]

    assert asyncio.run(main()) == ["paid 1"]
    assert paid == [1]


@guarantee
@pytest.mark.parametrize("kind", [AgentOutput, ToolCall])
def test_calls_that_are_handed_out_twice_run_once(kind: type, wrap: Wrap) -> None:
    """A context that is saved while LlamaIndex hands out the calls of a message hands all of them out once more."""
    paid: list[int] = []

    async def main() -> None:
        made = agent([wrap(paying(paid, 0.05))], [("pay", {"n": n}) for n in range(7)], "done")
        handler = made.run("go")
        saved = None
        async for event in handler.stream_events():
            if isinstance(event, kind) and saved is None:
                saved = Saved.of(handler.ctx)
        await handler
        await outputs(made, ctx=Saved.again(made, saved or {}), said="")

    asyncio.run(main())
    assert sorted(paid) == list(range(7))


def test_an_id_that_a_model_uses_again_is_another_call(wrap: Wrap) -> None:
    """Providers that count from call_0 in each message: two rounds with the same id, tool and arguments are two."""
    paid: list[int] = []
    tool = wrap(paying(paid))
    made = agent([tool], [("pay", {"n": 1}, "call_0")], [("pay", {"n": 1}, "call_0")], "done")
    assert [each.content for each in asyncio.run(outputs(made))] == ["paid 1", "paid 1"]
    assert paid == [1, 1]


def test_a_later_turn_is_another_call(wrap: Wrap) -> None:
    """Also with the same context, id, tool and arguments."""
    paid: list[int] = []

    async def main() -> None:
        made = ask(wrap(paying(paid)), {"n": 1})
        ctx = Context(made)
        await outputs(made, ctx=ctx)
        await outputs(made, ctx=ctx)

    asyncio.run(main())
    assert paid == [1, 1]


def test_another_conversation_is_another_call(wrap: Wrap, ax: AX) -> None:
    """Two contexts whose models give the same ids never answer for one another."""
    paid: list[int] = []
    tool = wrap(paying(paid))
    for _ in range(2):
        asyncio.run(outputs(ask(tool, {"n": 1})))
    assert paid == [1, 1]
    assert len({task.session for task in ax.tasks().tasks}) == 2


def test_a_declared_write_is_done_once_a_turn(ax: AX) -> None:
    """A model that issues the same payment twice within a turn is told; in the next turn it is meant."""
    paid: list[int] = []
    pay = wrap_tool(paying(paid), ax, policy="unsafe")
    made = agent([pay], [("pay", {"n": 1})], [("pay", {"n": 1})], "done")

    async def main() -> list[str]:
        ctx = Context(made)
        first = await outputs(made, ctx=ctx)
        return [each.content for each in (*first, *(await outputs(made, ctx=ctx)))]

    first, again, *_ = asyncio.run(main())
    assert paid == [1, 1]
    assert first == "paid 1"
    assert again.startswith("paid 1\n[")
    assert "Nothing was executed again" in again


class Till(Workflow):
    """A workflow of somebody's own: one step that calls a tool as often as it likes."""

    def __init__(self, calls: Callable[..., Any], **more: Any) -> None:
        super().__init__(**more)
        self.calls = calls

    @step
    async def only(self, ctx: Context, ev: StartEvent) -> StopEvent:
        return StopEvent(result=await self.calls(ctx))


def test_calls_of_a_step_of_ones_own_are_told_apart_by_their_place(wrap: Wrap) -> None:
    """Equal calls in one execution are as many; executed again from a saved context, each is answered."""
    paid: list[int] = []
    tool, stop = wrap(paying(paid)), asyncio.Event

    async def main() -> list[str]:
        gate = stop()

        async def calls(ctx: Context) -> list[str]:
            done = [(await tool.acall(n=1)).content for _ in range(2)]
            ctx.write_event_to_stream(StartEvent())
            await gate.wait()
            return done

        made = Till(calls)
        handler = made.run()
        saved = await until(handler, StartEvent)
        gate.set()
        return await made.run(ctx=Saved.again(made, saved))

    assert asyncio.run(asyncio.wait_for(main(), 10)) == ["paid 1", "paid 1"]
    assert paid == [1, 1]


def test_a_failure_is_tried_again_by_whoever_asks_again(ax: AX) -> None:
    """A retry policy of a step executes it again: the same task, a further attempt."""
    from llama_index.core.workflow.retry_policy import ConstantDelayRetryPolicy

    tries: list[int] = []

    async def flaky(n: int) -> str:
        """Fail once."""
        tries.append(n)
        if len(tries) == 1:
            raise OSError("away")
        return "there"

    tool = wrap_tool(FunctionTool.from_defaults(async_fn=flaky), ax)

    class Retrying(Workflow):
        @step(retry_policy=ConstantDelayRetryPolicy(delay=0, maximum_attempts=3))
        async def only(self, ctx: Context, ev: StartEvent) -> StopEvent:
            return StopEvent(result=(await tool.acall(n=1)).content)

    async def main() -> str:
        return await Retrying().run()

    assert asyncio.run(main()) == "there"
    (task,) = ax.tasks().tasks
    assert (task.attempts, str(task.state)) == (2, "SUCCESS")


def test_a_state_that_takes_nothing_costs_the_identity_alone(wrap: Wrap, ax: AX) -> None:
    """A workflow with a typed state that has no place for the conversation's name: its calls are new each time."""
    from pydantic import BaseModel

    class Count(BaseModel):
        n: int = 0

    paid: list[int] = []
    tool = wrap(paying(paid))

    class Typed(Workflow):
        @step
        async def only(self, ctx: Context[Count], ev: StartEvent) -> StopEvent:
            return StopEvent(result=(await tool.acall(n=1)).content)

    async def main() -> str:
        return await Typed().run()

    assert asyncio.run(main()) == "paid 1"
    assert ax.tasks().tasks[0].request_id is None


def test_the_model_is_not_asked_about_the_conversations_name(wrap: Wrap) -> None:
    """What AX keeps in the store is in no message."""
    llm = model([("pay", {"n": 1})], "done")
    made = FunctionAgent(tools=[wrap(paying([]))], llm=llm, initial_state={"x": 1})
    asyncio.run(outputs(made))
    assert "ax_" not in str(llm.response_generator.heard)


def test_a_state_class_with_room_for_it_keeps_the_identity(wrap: Wrap, ax: AX) -> None:
    """The two fields that the documentation names."""
    from pydantic import BaseModel

    class Count(BaseModel):
        ax_scope: Any = None
        ax_turn: Any = None

    tool = wrap(paying([]))

    class Typed(Workflow):
        @step
        async def only(self, ctx: Context[Count], ev: StartEvent) -> StopEvent:
            return StopEvent(result=(await tool.acall(n=1)).content)

    async def main() -> str:
        return await Typed().run()

    assert asyncio.run(main()) == "paid 1"
    assert ax.tasks().tasks[0].request_id is not None


def test_calls_of_a_tools_body_are_known_by_its_task(ax: AX) -> None:
    """A tool that calls another: one run, the inner call under the outer, and known again with it."""
    paid: list[int] = []
    inner = wrap_tool(paying(paid), ax, policy="unsafe")
    tries: list[int] = []

    async def order(n: int) -> str:
        """Order, and fail once after it has paid."""
        done = (await inner.acall(n=n)).content
        tries.append(n)
        if len(tries) == 1:
            raise OSError("away")
        return done

    outer = wrap_tool(
        FunctionTool.from_defaults(async_fn=order), ax, policy=Policy("idempotent", retries=1, backoff=0)
    )
    (answer,) = asyncio.run(outputs(ask(outer, {"n": 1})))
    assert "paid 1" in answer.content
    assert paid == [1]
    child, parent = (task for task in ax.tasks().tasks[:2])
    assert (child.tool, parent.tool) == ("pay", "order")
    assert child.parent_id == parent.id
    assert child.run_id == parent.run_id


def test_a_model_that_never_looks_at_its_tools_has_turns_too(wrap: Wrap) -> None:
    """Two turns with the same words, ids and arguments are two calls, also where nothing was remembered between them,
    as with the default serializer."""
    paid: list[int] = []

    class Blind(Model):
        def _prepare_chat_with_tools(self, tools: Any, *args: Any, **kwargs: Any) -> Any:
            return super()._prepare_chat_with_tools([], *args, **kwargs)

    async def main() -> None:
        llm = Blind(response_generator=Script([[("pay", {"n": 1}, "one")], "done"]))
        made = FunctionAgent(tools=[wrap(paying(paid))], llm=llm)
        ctx = Context(made)
        await outputs(made, ctx=ctx)
        await outputs(made, ctx=ctx)

    asyncio.run(main())
    assert paid == [1, 1]


def test_a_runtime_that_does_not_tell_a_resumed_run_has_turns_too(wrap: Wrap, monkeypatch: Any) -> None:
    """By the rounds that the agent counts, for models that look at their tools."""
    monkeypatch.setattr("ax_adapters.llama_index.step.Step.resumed", None)
    paid: list[int] = []

    async def main() -> list[str]:
        made = ask(wrap(paying(paid)), {"n": 1})
        ctx = Context(made)
        await outputs(made, ctx=ctx)
        handler = made.run("go", ctx=ctx)
        saved = None
        async for event in handler.stream_events():
            if isinstance(event, ToolCall) and saved is None:
                saved = Saved.of(handler.ctx)
        await handler
        return [each.content for each in await outputs(made, ctx=Saved.again(made, saved or {}), said="")]

    assert set(asyncio.run(main())) == {"paid 1"}
    assert paid == [1, 1]
