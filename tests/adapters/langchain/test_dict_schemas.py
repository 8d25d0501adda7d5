"""Tools whose schema is a dict, as MCP tools have: LangChain checks nothing against it, so AX does where asked to."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.tools import StructuredTool

from ax_adapters.langchain import wrap_tool, wrap_tools
from ax_core import AX, Policy, PolicyError, State
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
    with pytest.raises(PolicyError, match=r"'stock'.*strnig"):
        wrap_tool(stock([], broken), ax, policy="unsafe")


def test_one_broken_schema_takes_no_other_tool_down(ax: AX, drive: Drive) -> None:
    """A reference to somewhere else is never fetched: that tool is refused by name where it was declared, runs as bare
    where it was not, and the others of the list are as usable as ever."""
    remote = {"type": "object", "properties": {"delta": {"$ref": "http://127.0.0.1:9/x.json"}}}
    done: list[Any] = []
    good, odd = stock(done), stock(done, remote).model_copy(update={"name": "odd"})
    with pytest.raises(PolicyError, match=r"'odd'.*never fetched"):
        wrap_tools([good, odd], ax, policies={"stock": "unsafe", "odd": "unsafe"})
    made = wrap_tools([good, odd], ax, policies={"stock": "unsafe"})
    assert [drive(each, call_of(each, {"delta": n})).content for n, each in enumerate(made)] == [
        "changed"
    ] * 2
    assert done == [{"delta": 0}, {"delta": 1}]


TREE = {
    "type": "object",
    "properties": {"tree": {"$ref": "#/$defs/node"}},
    "$defs": {
        "node": {
            "type": "object",
            "properties": {
                "n": {"type": "integer"},
                "parts": {"type": "array", "items": {"$ref": "#/$defs/node"}},
            },
        }
    },
}


def _tree(depth: int, leaf: Any = 1) -> dict[str, Any]:
    made: dict[str, Any] = {"n": leaf}
    for _ in range(depth):
        made = {"parts": [made]}
    return made


def test_a_schema_that_refers_to_itself_is_kept_to_its_leaves(ax: AX, drive: Drive) -> None:
    """Three levels deep is fine, a wrong leaf is refused, ten thousand levels are refused and break nothing."""
    done: list[Any] = []
    made = wrap_tool(stock(done, TREE), ax, policy="unsafe")
    assert drive(made, call_of(made, {"tree": _tree(3)})).content == "changed"
    for wrong in (_tree(3, leaf="x"), _tree(10_000)):
        assert drive(made, call_of(made, {"tree": wrong})).status == "error"
    assert done == [{"tree": _tree(3)}]


@pytest.mark.parametrize(
    ("argument", "valid", "invalid"),
    [
        ({"type": ["string", "null"]}, ["a", None], [1]),
        ({"description": "anything"}, ["a", 1, None, {}], []),
        ({"type": "object"}, [{}, {"a": 1}], [1, None]),
        ({"enum": ["a", "b"]}, ["a"], ["c", 1]),
        ({"const": "a"}, ["a"], ["b"]),
        ({}, ["", 0, []], []),
        (True, ["a", 1], []),
        ({"anyOf": [{"type": "object"}, {"type": "null"}], "default": None}, [{"a": 1}, None], ["", 1]),
        ({"anyOf": [{"type": "string", "minLength": 1}, {"type": "null"}]}, ["eu", None], [""]),
        ({"type": "string", "pattern": "^(a+)+$"}, ["aa"], ["a" * 50_000 + "!"]),
    ],
    ids=str,
)
def test_every_form_of_schema_that_servers_send_is_kept(
    argument: Any, valid: list[Any], invalid: list[Any], ax: AX, drive: Drive
) -> None:
    """What fits reaches the tool as it came, null and empty text included; what does not fit never reaches it."""
    done: list[Any] = []
    made = wrap_tool(
        stock(done, {"type": "object", "properties": {"x": argument}}),
        ax,
        policy=Policy("unsafe", dedupe="call"),
    )
    for value in valid:
        assert drive(made, call_of(made, {"x": value})).content == "changed"
    for value in invalid:
        assert drive(made, call_of(made, {"x": value})).status == "error"
    assert done == [{"x": value} for value in valid]


def test_what_the_model_left_out_stays_out(ax: AX, drive: Drive) -> None:
    """An optional argument that may not be null: no null is made up for it, in the call or in what is compared."""
    done: list[Any] = []
    schema = {
        "type": "object",
        "properties": {"delta": {"type": "integer"}, "limit": {"type": "integer"}},
        "required": ["delta"],
    }
    made = wrap_tool(stock(done, schema), ax, policy="unsafe")
    assert drive(made, call_of(made, {"delta": 1})).content == "changed"
    assert drive(made, call_of(made, {"delta": 1, "limit": None})).status == "error"
    assert done == [{"delta": 1}]
    assert [task.payload for task in ax.tasks(state="SUCCESS").tasks] == [{"delta": 1}]


def test_a_tool_without_arguments_takes_nothing_and_nothing_else(ax: AX, drive: Drive) -> None:
    """Its schema says no more than that it is an object, as servers put it."""
    done: list[Any] = []
    made = wrap_tool(stock(done, {"type": "object"}), ax, policy=Policy("unsafe", dedupe="call"))
    assert drive(made, call_of(made, {})).content == "changed"
    for raw in ({"input": ""}, {"__arg1": ""}):
        assert drive(made, call_of(made, raw)).status == "error"
    assert done == [{}]


@pytest.mark.parametrize("number", [1234567890123456789, 9007199254740993, -(10**40)])
def test_a_long_number_reaches_the_tool_and_the_record_to_the_last_digit(
    number: int, ax: AX, drive: Drive
) -> None:
    """An id that went through a float would be somebody else's."""
    done: list[Any] = []
    made = wrap_tool(stock(done), ax, policy="unsafe")
    drive(made, call_of(made, {"delta": number}))
    assert done == [{"delta": number}]
    (task,) = ax.tasks().tasks
    assert task.payload == {"delta": number}


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
