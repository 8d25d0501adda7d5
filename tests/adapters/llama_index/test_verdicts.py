"""AX's own answers reach the model as error outputs, in words for a model, and the agent goes on."""

import asyncio
import threading
from typing import Any

import pytest
from llama_index.core.agent.workflow import AgentWorkflow, ToolCallResult
from llama_index.core.tools import FunctionTool

from ax_adapters.llama_index import ApprovalRequired, wrap_tool, wrap_tools
from ax_core import (
    AX,
    AXError,
    Budget,
    BudgetExceeded,
    InvalidArguments,
    OutcomeUnknown,
    Policy,
    PolicyError,
    SessionBusy,
)
from support.llama import Call, agent, outputs, told
from support.skew import Skew


def lost(n: int) -> str:
    """Lose the reply."""
    raise RuntimeError("the reply was lost")


def test_a_verdict_is_an_error_output(ax: AX, call: Call) -> None:
    """Content in words for a model, is_error, and the verdict itself as the exception."""
    tool = wrap_tool(lambda_tool(), ax, policy="unsafe")
    output = call(tool, n="one")
    assert output.is_error
    assert isinstance(output.exception, InvalidArguments)
    assert output.content == output.raw_output == output.exception.for_model
    assert output.tool_name == "one"
    assert output.raw_input == {"args": (), "kwargs": {"n": "one"}}


def lambda_tool(**more: Any) -> FunctionTool:
    def one(n: int) -> int:
        """Give it back."""
        return n

    return FunctionTool.from_defaults(one, **more)


def test_a_verdict_never_ends_an_agent_through_return_direct(ax: AX) -> None:
    """The model reads it, and has the last word."""
    tool = wrap_tool(lambda_tool(return_direct=True), ax, policy="unsafe")
    made = agent([tool], [("one", {"n": "x"})], "I could not do it")

    async def main() -> str:
        return str(await made.run("go"))

    assert asyncio.run(main()) == "I could not do it"


@pytest.mark.parametrize("first", [True, False], ids=["before", "after"])
def test_a_direct_verdict_beside_a_result_ends_nothing_and_loses_nothing(first: bool, ax: AX) -> None:
    """One message, two calls: the model reads the verdict of the direct one and the result of the other."""
    direct = wrap_tool(lambda_tool(return_direct=True), ax, policy=Policy("unsafe", confirm=True))

    def other(n: int) -> str:
        """Give a result."""
        return f"result {n}"

    calls = [("one", {"n": 1}, "a"), ("other", {"n": 2}, "b")]
    made = agent(
        [direct, wrap_tool(other, ax, policy="read")],
        calls if first else calls[::-1],
        "both were read",
    )

    async def main() -> tuple[str, dict[str, tuple[str, bool]]]:
        handler = made.run("go")
        found = {}
        async for event in handler.stream_events():
            if isinstance(event, ApprovalRequired):
                handler.ctx.send_event(event.answer("reject"))
            if isinstance(event, ToolCallResult):
                found[event.tool_id] = (event.tool_output.content, event.tool_output.is_error)
        return str(await handler), found

    said, found = asyncio.run(asyncio.wait_for(main(), 10))
    assert said == "both were read"
    assert found["b"] == ("result 2", False)
    assert found["a"][1] and found["a"][0].startswith("REJECTED")


def test_what_may_have_happened_is_told_on_the_reissue(ax: AX) -> None:
    """A declared UNSAFE tool raised: the model reads the tool's own words; asked again, that it may have happened."""
    tool = wrap_tool(lost, ax, policy="unsafe")
    first, again = asyncio.run(outputs(agent([tool], [("lost", {"n": 1})], [("lost", {"n": 1})], "done")))
    assert first.content == "the reply was lost"
    assert isinstance(first.exception, RuntimeError)
    assert again.is_error
    assert "may have taken effect" in again.content


def test_an_unknown_outcome_is_told_and_not_repeated(ax: AX) -> None:
    """A tool that was cut off by its time limit: in doubt, and the same call again is told so."""
    tried: list[int] = []

    async def slow(n: int) -> str:
        """Take long."""
        tried.append(n)
        await asyncio.sleep(5)
        return "never"

    tool = wrap_tool(FunctionTool.from_defaults(async_fn=slow), ax, policy="unsafe", timeout=0.1)
    answers = told(agent([tool], [("slow", {"n": 1})], [("slow", {"n": 1})], "done"))
    assert tried == [1]
    assert all(answer.startswith("UNKNOWN OUTCOME") for answer in answers)


@pytest.mark.parametrize("mode", ["sync", "async"])
def test_on_refusal_raise_raises_verdicts(mode: str, ax: AX) -> None:
    """For hosts that want exceptions; a tool's own still pass as they are."""
    tool = wrap_tool(lambda_tool(), ax, policy="unsafe", on_refusal="raise")
    with pytest.raises(InvalidArguments):
        Call(mode)(tool, n="x")
    failing = wrap_tool(lost, ax, on_refusal="raise")
    with pytest.raises(RuntimeError, match="lost"):
        Call(mode)(failing, n=1)


def test_an_ax_error_of_the_tools_own_passes(ax: AX, call: Call) -> None:
    """A body that calls AX itself and lets its exception out: that is the tool's, whatever its type."""

    def inner(n: int) -> int:
        """Call AX."""
        raise OutcomeUnknown("of something else", task_id="t")

    with pytest.raises(OutcomeUnknown, match="something else"):
        call(wrap_tool(inner, ax), n=1)


def test_a_budget_that_is_used_up_is_told_then_raised(ax: AX) -> None:
    """Three refusals are told; the fourth raises, for this caller is not listening."""
    (one,) = wrap_tools([lambda_tool()], ax, default_effect="read")
    with ax.run(budget=Budget(tasks=1)):
        assert one.call(n=0).raw_output == 0
        for n in range(1, 4):
            assert isinstance(one.call(n=n).exception, BudgetExceeded)
        with pytest.raises(BudgetExceeded):
            one.call(n=5)


def test_parallel_refusals_of_one_message_count_once(ax: AX) -> None:
    """A model cannot have listened to what its own parallel calls are told."""
    (one,) = wrap_tools([lambda_tool()], ax, default_effect="read")
    script = [("one", {"n": n}, f"t{n}") for n in range(6)]

    async def main() -> list[Any]:
        async with ax.run(budget=Budget(tasks=1)):
            return await outputs(agent([one], script, "done"))

    answers = asyncio.run(main())
    refused = [each for each in answers if each.is_error]
    assert len(refused) == 5
    assert all("Refused" in each.content or "budget" in each.content.lower() for each in refused)
    assert {each.content for each in refused} == {refused[0].exception.for_model}


def test_a_call_whose_session_was_taken_raises(ax: AX, clock: Skew, call: Call) -> None:
    """SessionBusy is for the host, not for the model: the chain is over."""
    (one,) = wrap_tools([lambda_tool()], ax, default_effect="read")
    inside, go = threading.Event(), threading.Event()

    def hold() -> None:
        with ax.run(session="S"):
            inside.set()
            go.wait(20)

    other = threading.Thread(target=hold)
    try:
        with ax.run(session="S"):
            call(one, n=1)
            clock.ahead(3600)  # this chain stood still beyond its lease
            other.start()
            assert inside.wait(10)
            with pytest.raises(SessionBusy):
                call(one, n=2)
    finally:
        go.set()
        other.join()


def test_a_paused_tool_is_told(ax: AX, call: Call) -> None:
    """An operator has paused it: it waits, and says so instead of hanging."""
    tool = wrap_tool(lambda_tool(), ax)
    call(tool, n=1)
    ax.pause("one", by="ops")
    output = call(tool, n=2)
    assert output.is_error
    assert isinstance(output.exception, AXError)
    ax.resume("one", by="ops")
    assert call(tool, n=3).raw_output == 3


def test_an_output_that_says_it_failed_has_failed(ax: AX, call: Call) -> None:
    """A tool that returns ToolOutput(is_error=True): FAILED on record, its own words for the model."""
    from llama_index.core.tools import AsyncBaseTool, ToolMetadata, ToolOutput

    class Refusing(AsyncBaseTool):
        metadata = ToolMetadata(name="refusing", description="d")

        def call(self, **_: Any) -> ToolOutput:
            return ToolOutput(
                content="no", tool_name="refusing", raw_input={}, raw_output=None, is_error=True
            )

        async def acall(self, **more: Any) -> ToolOutput:
            return self.call(**more)

    output = call(wrap_tool(Refusing(), ax), input="x")
    assert (output.content, output.is_error) == ("no", True)
    assert str(ax.tasks().tasks[0].state) == "FAILED"


def test_a_host_mistake_is_no_answer_to_the_model(ax: AX, call: Call) -> None:
    """A call inside a TRANSACTIONAL body, say, is told to whoever wrote it."""
    inner = wrap_tool(lambda_tool(), ax)

    def outer(n: int) -> Any:
        """Call another in a transaction."""
        return inner.call(n=n).raw_output

    with pytest.raises(PolicyError, match="TRANSACTIONAL"):
        call(wrap_tool(outer, ax, policy="transactional"), n=1)


def test_a_workflow_of_agents_goes_on_after_a_verdict(ax: AX) -> None:
    """AgentWorkflow as well."""
    tool = wrap_tool(lambda_tool(), ax, policy="unsafe")
    made = AgentWorkflow(
        agents=[agent([tool], [("one", {"n": "x"})], "sorry", name="A", description="a")], root_agent="A"
    )

    async def main() -> str:
        return str(await made.run("go"))

    assert asyncio.run(main()) == "sorry"
