"""Tools whose schema is a dict, as MCP tools have: LangChain checks nothing against it, so AX does where asked to."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.tools import StructuredTool

from ax_adapters.langchain import wrap_tool
from ax_core import AX, PolicyError, State
from support.driving import Drive, call_of

SCHEMA = {"type": "object", "properties": {"delta": {"type": "integer"}}, "required": ["delta"]}


def stock(done: list[Any], schema: dict[str, Any] = SCHEMA) -> StructuredTool:
    """Changes the stock by what it was given, whatever that is."""
    return StructuredTool.from_function(
        lambda **given: done.append(given) or "changed",
        name="stock",
        description="Change.",
        args_schema=schema,
    )


@pytest.mark.parametrize("raw", [{"delta": "ten"}, {}, {"delta": 1, "dleta": 2}])
def test_a_declared_tool_is_not_entered_with_what_its_schema_refuses(
    raw: dict[str, Any], ax: AX, drive: Drive
) -> None:
    """A hallucinated amount never reaches a tool that acts."""
    done: list[Any] = []
    made = wrap_tool(stock(done), ax, policy="unsafe")
    message = drive(made, call_of(made, raw))
    assert (message.status, done) == ("error", [])
    (task,) = ax.tasks().tasks
    assert (task.state, task.reason) == (State.QUARANTINE, "invalid_args")


def test_what_fits_runs_as_bare(ax: AX, drive: Drive) -> None:
    """The gate refuses; it changes nothing of what it lets through."""
    done: list[Any] = []
    made = wrap_tool(stock(done), ax, policy="unsafe")
    assert drive(made, call_of(made, {"delta": 3})).content == "changed"
    assert done == [{"delta": 3}]


def test_an_undeclared_tool_behaves_as_bare(ax: AX, drive: Drive) -> None:
    """A swap-in changes nothing that was not asked for."""
    done: list[Any] = []
    made = wrap_tool(stock(done), ax)
    assert drive(made, call_of(made, {"delta": "ten"})).content == "changed"
    assert done == [{"delta": "ten"}]


def test_a_schema_that_cannot_be_kept_is_told_at_wrap_time(ax: AX) -> None:
    """Fail closed: a declared tool is not wrapped on a schema that nobody can check."""
    broken = {"type": "object", "properties": {"delta": {"type": "strnig"}}}
    with pytest.raises(PolicyError):
        wrap_tool(stock([], broken), ax, policy="unsafe")


@pytest.mark.parametrize("cap", [4096, 2_097_152])
def test_the_cap_of_arguments_is_the_one_that_was_set(cap: int, drive: Drive) -> None:
    """A larger one than the default lets more through, a smaller one less."""
    done: list[Any] = []
    schema = {"type": "object", "properties": {"text": {"type": "string"}}}
    with AX("sqlite://", payload_cap=cap) as ax:
        made = wrap_tool(stock(done, schema), ax, policy="unsafe")
        assert drive(made, call_of(made, {"text": "x" * (cap + 1)})).status == "error"
        assert done == []
        assert drive(made, call_of(made, {"text": "x" * (cap - 100)})).content == "changed"
