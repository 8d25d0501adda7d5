"""Unions with a discriminator: the branch is chosen by its tag and held to it strictly."""

from __future__ import annotations

from typing import Any

import pytest

from ax_core.schema import SchemaError, compile_gate
from support.gates import admitted, one, refused, takes

A = takes({"type": {"const": "a"}, "x": {"type": "integer"}}, "type", "x")
B = takes(
    {"type": {"const": "b"}, "x": {"type": "integer"}, "y": {"type": "string", "default": "d"}}, "type", "x"
)
OPEN_B = takes({"type": {"type": "string"}, "x": {}})


def union(*branches: Any, keyword: str = "oneOf", **discriminator: Any) -> dict[str, Any]:
    return {keyword: list(branches), "discriminator": {"propertyName": "type", **discriminator}}


@pytest.mark.parametrize(
    "schema",
    [
        union(A, B),
        union(A, OPEN_B),
        union(A, B, keyword="anyOf"),
        union({"$ref": "#/$defs/A"}, {"$ref": "#/$defs/B"}),
        union(
            {"$ref": "#/$defs/A"}, {"$ref": "#/$defs/OpenB"}, mapping={"a": "#/$defs/A", "b": "#/$defs/OpenB"}
        ),
        union({"$ref": "#/$defs/A"}, {"$ref": "#/$defs/OpenB"}, mapping={"a": "A", "b": "OpenB"}),
        {"anyOf": [union(A, B), {"type": "null"}]},
    ],
    ids=lambda schema: str(schema)[:60],
)
def test_the_branch_is_chosen_by_its_tag_even_where_another_fits_too(schema: dict) -> None:
    defs = {"$defs": {"A": A, "B": B, "OpenB": OPEN_B}}
    gate = compile_gate(takes({"p": schema}, "p", **defs))
    assert admitted(gate, {"p": {"type": "a", "x": 1}}) == {"p": {"type": "a", "x": 1}}
    assert admitted(gate, {"p": {"type": "a", "x": "1"}}) == {"p": {"type": "a", "x": 1}}
    for wrong in (
        {"type": "c", "x": 1},
        {"x": 1},
        {"type": "a"},
        {"type": "a", "x": "z"},
        {"type": 1, "x": 1},
        "a",
        5,
    ):
        refused(gate, {"p": wrong})


def test_an_unknown_or_missing_tag_is_named_with_the_known_ones() -> None:
    gate = one(union(A, B))
    [problem] = refused(gate, {"x": {"type": "c", "x": 1}}).problems
    assert (problem.path, problem.expected) == ("x.type", 'one of "a", "b"')
    [problem] = refused(gate, {"x": {"x": 1}}).problems
    assert (problem.path, problem.kind) == ("x.type", "missing")


def test_the_errors_are_those_of_the_chosen_branch_alone() -> None:
    [problem] = refused(one(union(A, B)), {"x": {"type": "b", "x": "z"}}).problems
    assert (problem.path, problem.expected) == ("x.x", "integer")


def test_only_the_chosen_branch_fills_in_its_defaults() -> None:
    gate = one(union(A, B))
    assert admitted(gate, {"x": {"type": "b", "x": 1}}) == {"x": {"type": "b", "x": 1, "y": "d"}}
    assert admitted(gate, {"x": {"type": "a", "x": 1}}) == {"x": {"type": "a", "x": 1}}


def test_a_tool_s_arguments_can_themselves_be_such_a_union() -> None:
    gate = compile_gate(union(A, B))
    assert admitted(gate, {"type": "b", "x": "1"}) == {"type": "b", "x": 1, "y": "d"}
    for wrong in ({"type": "c", "x": 1}, {"x": 1}, {}, {"type": "a", "x": 1, "z": 1}):
        refused(gate, wrong)


def test_without_a_discriminator_exactly_one_branch_must_fit() -> None:
    gate = one({"oneOf": [A, OPEN_B]})
    refused(gate, {"x": {"type": "a", "x": 1}})
    assert admitted(gate, {"x": {"type": "c", "x": 1}})
    assert admitted(one({"anyOf": [A, OPEN_B]}), {"x": {"type": "a", "x": 1}})


def test_a_branch_without_a_tag_is_never_chosen_and_remarked() -> None:
    assert one(union(A, OPEN_B)).remarks == ("#/properties/x: branch 1 has no tag and is never chosen",)


@pytest.mark.parametrize(
    ("schema", "says"),
    [
        (union(OPEN_B, OPEN_B), "no branch says"),
        (union(A, A), "two branches"),
        (union(A, mapping={"a": "#/$defs/none"}), "none of its branches"),
        ({"oneOf": [A], "discriminator": {}}, "propertyName"),
        ({"oneOf": [A], "discriminator": 5}, "propertyName"),
    ],
    ids=str,
)
def test_a_discriminator_that_tells_nothing_apart_is_refused_at_registration(schema: dict, says: str) -> None:
    with pytest.raises(SchemaError, match=says):
        one(schema)


def test_a_failed_plain_union_speaks_of_the_branch_that_was_meant() -> None:
    closed = [{**branch, "additionalProperties": False} for branch in (A, B)]
    [problem] = refused(one({"oneOf": closed}), {"x": {"type": "b", "x": True}}).problems
    assert (problem.path, problem.expected) == ("x.x", "integer")
