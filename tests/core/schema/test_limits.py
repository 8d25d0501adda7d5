"""Size and depth are bounded before any work, and every refusal comes promptly."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

from ax_core.schema import Invalid, compile_gate
from support.gates import admitted, one, refused, takes

TREE = {
    "$ref": "#/$defs/node",
    "$defs": {
        "node": takes(
            {"value": {"type": "integer"}, "children": {"type": "array", "items": {"$ref": "#/$defs/node"}}},
            "value",
        )
    },
}


def tree(depth: int) -> dict[str, Any]:
    made: dict[str, Any] = {"value": "1"}
    for _ in range(depth):
        made = {"value": 1, "children": [made]}
    return made


def test_a_schema_that_refers_to_itself_works_to_every_permitted_depth() -> None:
    gate = compile_gate(TREE)
    for depth in (0, 3, 31):
        args = admitted(gate, tree(depth))
        for _ in range(depth):
            [args] = args["children"]
        assert args == {"value": 1}
    assert "value" in refused(gate, {"value": 1, "children": [{"value": 1}, {}]}).for_model()


@pytest.mark.parametrize("depth", [40, 10_000])
def test_what_is_nested_too_deeply_is_refused_cleanly(depth: int) -> None:
    gate = compile_gate(TREE)
    [problem] = refused(gate, tree(depth)).problems
    assert (problem.kind, problem.expected) == ("depth", "at most 64 levels")
    text = '{"value":1,"children":[' * depth + '{"value":1}' + "]}" * depth
    assert refused(gate, text).problems[0].kind in ("depth", "syntax")
    assert "deep" in refused(gate, text).for_model()


def test_a_caller_deep_in_its_own_stack_gets_an_answer_and_no_recursion_error() -> None:
    gate = compile_gate({"anyOf": [{"allOf": [TREE]}], "$defs": TREE["$defs"]})

    def down(levels: int) -> Any:
        return down(levels - 1) if levels else gate.admit(tree(31))

    answers = [down(levels) for levels in range(0, 900, 25)]
    refusals = [answer for answer in answers if isinstance(answer, Invalid)]
    assert len(refusals) < len(answers)
    assert {problem.kind for answer in refusals for problem in answer.problems} == {"depth"}


def test_a_value_that_contains_itself_is_refused() -> None:
    loop: dict[str, Any] = {}
    loop["x"] = [loop, loop]
    assert refused(compile_gate(True), loop).problems[0].kind == "depth"
    shared: Any = ["x"]
    for _ in range(60):
        shared = [shared, shared]
    began = time.process_time()
    assert refused(compile_gate(True, max_bytes=50_000), {"x": shared}).problems[0].kind == "size"
    assert time.process_time() - began < 5


@pytest.mark.parametrize(
    "value", ["a" * 5_000_000, ["a"] * 500_000, {str(n): n for n in range(200_000)}, "\x00" * 300_000]
)
def test_arguments_beyond_the_limit_are_refused_before_they_are_looked_at(value: Any) -> None:
    gate = one({})
    began = time.process_time()
    assert refused(gate, {"x": value}).problems[0].kind == "size"
    assert refused(gate, json.dumps({"x": value})).problems[0].kind == "size"
    assert time.process_time() - began < 3
    assert "larger than 1048576 bytes" in refused(gate, {"x": value}).for_model()


def test_the_limit_counts_bytes_of_json_text_and_can_be_set() -> None:
    assert refused(compile_gate(True), " " * 2_000_000 + "{}").problems[0].kind == "size"
    gate = one({}, max_bytes=100)
    assert admitted(gate, {"x": "a" * 90})
    for value in ("a" * 100, "é" * 50, "\x01" * 20):
        refused(gate, {"x": value})
    assert "'x' holds most of it" in refused(gate, {"x": "a" * 100}).for_model()
    assert one({}, max_bytes=10_000_000).admit({"x": "a" * 5_000_000})


def test_huge_arrays_of_wrong_or_readable_items_are_counted_and_not_spelt_out() -> None:
    gate = one({"type": "array", "items": {"type": "integer"}})
    began = time.process_time()
    answer = refused(gate, {"x": ["a"] * 20_000})
    assert 0 < answer.more < 100
    assert len(answer.for_model()) < 4000
    read = gate.admit({"x": ["1"] * 20_000})
    assert read.notes[-1] == "and 19950 more changes"
    assert time.process_time() - began < 8


def test_unique_items_are_checked_in_linear_time_by_json_type() -> None:
    gate = one({"uniqueItems": True})
    began = time.process_time()
    assert admitted(gate, {"x": [{"n": n} for n in range(10_000)]})
    assert time.process_time() - began < 5
    assert admitted(gate, {"x": [1, True, "1", [1], {"a": 1}]})
    for value in ([1, 1.0], [{"a": 1, "b": 2}, {"b": 2, "a": 1}], [[True], [True]]):
        refused(gate, {"x": value})
