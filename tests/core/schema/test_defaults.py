"""Defaults are part of the arguments: filled in once, by the schema, before anything is hashed."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel, Field

from ax_core.keys import args_hash
from ax_core.schema import compile_gate
from support.gates import admitted, one, refused, takes

SEND = {
    "to": {"type": "string"},
    "cc": {"type": "array", "items": {"type": "string"}, "default": []},
    "priority": {"type": "string", "default": "normal"},
}


def test_leaving_an_argument_out_is_giving_its_default() -> None:
    gate = compile_gate(takes(SEND, "to"))
    calls: list[dict[str, Any]] = [{"to": "a"}, {"to": "a", "cc": []}, {"to": "a", "priority": "normal"}]
    assert len({args_hash(admitted(gate, call)) for call in calls}) == 1
    assert "array" in refused(gate, {"to": "a", "cc": None}).for_model()


def test_a_new_default_is_a_new_call() -> None:
    newer = {**SEND, "priority": {"type": "string", "default": "high"}}
    before, after = (admitted(compile_gate(takes(each, "to")), {"to": "a"}) for each in (SEND, newer))
    assert args_hash(before) != args_hash(after)


def test_a_filled_default_is_never_shared_between_calls() -> None:
    gate = compile_gate(takes(SEND, "to"))
    admitted(gate, {"to": "a"})["cc"].append("b")
    assert admitted(gate, {"to": "a"})["cc"] == []
    assert gate.schema["properties"]["cc"]["default"] == []


def test_optional_objects_and_blanks_pass_as_the_schema_says() -> None:
    gate = compile_gate(
        takes(
            {
                "values": {"anyOf": [{"type": "object"}, {"type": "null"}], "default": None},
                "region": {"anyOf": [{"type": "string", "minLength": 1}, {"type": "null"}], "default": "eu"},
                "note": {"anyOf": [{"type": "string"}, {"type": "null"}], "default": None},
            }
        )
    )
    assert admitted(gate, {"values": {"a": 1}}) == {"values": {"a": 1}, "region": "eu"}
    assert admitted(gate, {}) == {"region": "eu"}
    assert admitted(gate, {"note": ""}) == {"note": "", "region": "eu"}
    assert admitted(gate, {"region": None, "values": None}) == {"region": None, "values": None}
    refused(gate, {"region": ""})
    refused(gate, {"values": ""})


class Search(BaseModel):
    query: str
    limit: int | None = None
    sort: str = Field("asc", alias="sortBy")


def test_a_default_that_only_python_knows_is_no_argument() -> None:
    gate = compile_gate(
        takes({"query": {"type": "string"}, "limit": {"type": "integer"}, "sortBy": {}}, "query")
    )
    args = admitted(gate, Search(query="q"))
    assert args == {"query": "q"}
    assert args_hash(args) == args_hash(admitted(gate, {"query": "q"}))
    assert admitted(gate, Search(query="q", limit=5, sortBy="desc")) == {
        "query": "q",
        "limit": 5,
        "sortBy": "desc",
    }
    assert "leave the argument out" in refused(gate, {"query": "q", "limit": None}).for_model()


def test_defaults_are_filled_inside_objects_that_are_there_and_nowhere_else() -> None:
    inner = takes({"n": {"type": "integer", "default": 1}})
    gate = compile_gate(
        takes({"a": inner, "b": {"type": "array", "items": inner}, "c": {"$ref": "#/properties/a"}})
    )
    assert admitted(gate, {}) == {}
    assert admitted(gate, {"a": {}, "b": [{}, {"n": 2}], "c": {}}) == {
        "a": {"n": 1},
        "b": [{"n": 1}, {"n": 2}],
        "c": {"n": 1},
    }


def test_a_default_object_is_taken_as_it_stands() -> None:
    inner = {**takes({"n": {"default": 1}}), "default": {"m": 2}}
    assert admitted(compile_gate(takes({"a": inner})), {}) == {"a": {"m": 2}}


@pytest.mark.parametrize("default", ["5", None, 5.5, [], True])
def test_a_default_that_does_not_fit_its_own_schema_is_never_filled_in(default: Any) -> None:
    gate = compile_gate(takes({"limit": {"type": "integer", "default": default}}))
    assert admitted(gate, {}) == {}
    assert len(gate.remarks) == (default is not None)


def test_a_required_argument_must_be_given_even_if_it_has_a_default() -> None:
    assert refused(compile_gate(takes({"x": {"default": 1}}, "x")), {}).problems[0].kind == "missing"
    assert admitted(one({"default": 1}), {"x": 2}) == {"x": 2}
