"""LlamaIndex checks no arguments. AX does for the tools that act and whose author asked for care."""

from typing import Any

import pytest
from llama_index.core.tools import FunctionTool, QueryEngineTool
from pydantic import BaseModel

from ax_adapters.llama_index import wrap_tool
from ax_core import AX, InvalidArguments
from support.llama import SCHEMA_SKIPS_KWARGS, Call, agent, told
from support.llama_tools import Echo

DECLARED = pytest.mark.parametrize("effect", ["idempotent", "keyed", "unsafe"])


def taking(seen: list[Any]) -> FunctionTool:
    def refund(order: str, amount: int = 1, note: str = "") -> str:
        """Refund."""
        seen.append((order, amount, note))
        return "ok"

    return FunctionTool.from_defaults(refund)


@DECLARED
def test_arguments_that_do_not_fit_never_reach_a_declared_tool(effect: str, ax: AX, call: Call) -> None:
    """A wrong type, a missing one, one that it does not have: told with what would fit, and on record."""
    seen: list[Any] = []
    tool = wrap_tool(taking(seen), ax, policy=effect)
    for wrong, hint in (
        ({"order": "7", "amount": "much"}, "amount"),
        ({"amount": 1}, "order"),
        ({"order": "7", "ammount": 5}, "did you mean 'amount'"),
        ({"order": "7", "note": 3}, "note"),
    ):
        output = call(tool, **wrong)
        assert isinstance(output.exception, InvalidArguments)
        assert hint in output.content, output.content
    assert seen == []
    assert {(str(task.state), task.reason) for task in ax.tasks().tasks} == {("QUARANTINE", "invalid_args")}


@DECLARED
def test_what_is_recorded_is_what_runs(effect: str, ax: AX, call: Call) -> None:
    """A number as text is read as the number, once: on record, in the hash and in the call."""
    seen: list[Any] = []
    tool = wrap_tool(taking(seen), ax, policy=effect)
    call(tool, order="7", amount="10")
    call(tool, order="8", amount=2.0)
    assert seen == [("7", 10, ""), ("8", 2, "")]
    assert type(seen[1][1]) is int
    assert [task.payload["amount"] for task in ax.tasks().tasks] == [2, 10]


@pytest.mark.parametrize("effect", [None, "read"])
def test_an_undeclared_tool_and_a_read_are_as_strict_as_without_ax(
    effect: str | None, ax: AX, call: Call
) -> None:
    """The function gets what the model said, and its own TypeError is what the caller gets."""
    seen: list[Any] = []
    tool = wrap_tool(taking(seen), ax, policy=effect)
    call(tool, order="7", amount="much")
    assert seen == [("7", "much", "")]
    with pytest.raises(TypeError, match="ammount"):
        call(tool, order="7", ammount=5)


def test_an_agent_corrects_itself(ax: AX) -> None:
    """The refusal says what to correct, and the corrected call runs."""
    seen: list[Any] = []
    tool = wrap_tool(taking(seen), ax, policy="unsafe")
    script = [("refund", {"order": "7", "amount": "ten"})], [("refund", {"order": "7", "amount": 10})]
    first, second = told(agent([tool], *script, "done"))
    assert "Correct the arguments" in first
    assert second == "ok"
    assert seen == [("7", 10, "")]


def test_partial_params_cannot_be_overridden_by_the_model(ax: AX, call: Call) -> None:
    """Of a declared tool: the tenant that the host fixed is no argument of the model's."""
    seen: list[Any] = []

    def refund(order: str, tenant: str) -> str:
        """Refund."""
        seen.append((order, tenant))
        return "ok"

    tool = wrap_tool(FunctionTool.from_defaults(refund, partial_params={"tenant": "T"}), ax, policy="unsafe")
    assert call(tool, order="7", tenant="another").is_error
    assert call(tool, order="7").content == "ok"
    assert seen == [("7", "T")]


@pytest.mark.skipif(
    not SCHEMA_SKIPS_KWARGS, reason="this LlamaIndex makes **filters an argument of that name"
)
def test_a_function_that_takes_any_name_takes_any_name(ax: AX, call: Call) -> None:
    """``**kwargs``: its schema does not say so, the function does."""

    def search(q: str, **filters: Any) -> str:
        """Search."""
        return f"{q} {sorted(filters)}"

    tool = wrap_tool(search, ax, policy="idempotent")
    assert call(tool, q="x", color="red").content == "x ['color']"
    assert call(tool, color="red").is_error


def test_a_schema_that_the_function_does_not_fit_is_told_before_it_is_entered(ax: AX, call: Call) -> None:
    """An ``fn_schema`` of the author's own with another name: a declared tool is not left in doubt about it."""

    class Args(BaseModel):
        id: str

    def refund(order: str) -> str:
        """Refund."""
        return "ok"

    tool = wrap_tool(FunctionTool.from_defaults(refund, fn_schema=Args), ax, policy="unsafe")
    output = call(tool, id="7")
    assert isinstance(output.exception, InvalidArguments)
    assert "do not fit the function" in output.content
    assert not ax.tasks().tasks[0].maybe_applied


def test_nested_models_are_data_as_without_ax(ax: AX, call: Call) -> None:
    """LlamaIndex hands a function the dict that the model sent, whatever it is annotated with."""

    class Line(BaseModel):
        sku: str
        n: int = 1

    seen: list[Any] = []

    def order(lines: list[Line]) -> str:
        """Order."""
        seen.append(lines)
        return "ok"

    lines = [{"sku": "a", "n": 2}]
    for effect in (None, "unsafe"):
        call(
            wrap_tool(FunctionTool.from_defaults(order, name=f"order_{effect}"), ax, policy=effect),
            lines=lines,
        )
    assert seen == [lines, lines]


def test_defaults_stay_the_functions_own(ax: AX, call: Call) -> None:
    """What the schema fills in is recorded; the function gets its default, not the JSON of it."""

    class Line(BaseModel):
        sku: str = "x"

    seen: list[Any] = []

    def order(n: int, line: Line = Line()) -> str:  # noqa: B008
        """Order."""
        seen.append(line)
        return "ok"

    call(wrap_tool(order, ax, policy="unsafe"), n="1")
    assert isinstance(seen[0], Line)


def test_arguments_that_are_no_data_still_reach_an_undeclared_tool(ax: AX, call: Call) -> None:
    """They have no identity, and equal nothing; the same object arrives."""
    thing = object()
    seen: list[Any] = []

    def keep(x: Any) -> str:
        """Keep."""
        seen.append(x)
        return "ok"

    assert call(wrap_tool(keep, ax), x=thing).content == "ok"
    assert seen == [thing]


def test_a_declared_query_engine_tool_is_gated_too(ax: AX, call: Call) -> None:
    """By the schema its model sees."""
    tool = wrap_tool(QueryEngineTool.from_defaults(Echo(), name="q"), ax, policy="idempotent")
    assert call(tool, input="hi").content == "answer hi"
    assert call(tool, "hi").content == "answer hi"
    assert call(tool, query="hi").is_error


def test_too_much_is_told(call: Call) -> None:
    """``payload_cap`` holds for what a model sends through an adapter."""
    with AX("sqlite://", payload_cap=1000) as ax:
        for effect in (None, "unsafe"):
            tool = wrap_tool(
                FunctionTool.from_defaults(lambda x: x, name=f"f_{effect}", description="d"),
                ax,
                policy=effect,
            )
            assert isinstance(call(tool, x="y" * 2000).exception, InvalidArguments)
