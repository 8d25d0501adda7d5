"""The gate as a whole: it agrees with JSON Schema, changes nothing of the caller's, and is cheap."""

from __future__ import annotations

import copy
import json
import subprocess
import sys
import timeit
from dataclasses import replace
from typing import Any

import jsonschema
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ax_core.keys import args_hash
from ax_core.schema import Admitted, compile_gate
from ax_core.schema.shape import Shape
from support.gates import admitted, takes

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=4) | st.sampled_from(
    ["1", "1.0", "true", "{}", "[1]"]
)
values = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from([0.5, 1.0, -2.0]) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=8,
)
leaves = st.sampled_from(
    [
        {},
        True,
        {"type": "integer"},
        {"type": "number", "minimum": 0},
        {"type": "string"},
        {"type": "string", "minLength": 1, "maxLength": 2},
        {"type": "boolean"},
        {"type": "null"},
        {"type": ["integer", "null"], "exclusiveMaximum": 2},
        {"enum": ["a", "1", 1]},
        {"enum": ["a", "b"]},
        {"const": "a"},
        {"const": "a", "enum": ["b"]},
        {"const": "a", "enum": ["a", "b"]},
        {"type": "array", "maxItems": 1},
        {"minimum": 1, "minLength": 2},
        {"$ref": "#/$defs/n"},
        {"$ref": "#/$defs/tree"},
    ]
)


def objects(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.builds(
        lambda properties, required, extra: {**takes(properties, *required), **extra},
        st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
        st.sets(st.sampled_from("abc"), max_size=1),
        st.sampled_from([{}, {"additionalProperties": False}, {"additionalProperties": {"type": "integer"}}]),
    )


def all_of(parts: list[Any], own: Any) -> Any:
    return own if own is True else {**own, "allOf": parts}


schemas = st.recursive(
    leaves,
    lambda inner: (
        objects(inner)
        | st.builds(lambda items: {"type": "array", "items": items}, inner)
        | st.builds(lambda each: {"anyOf": each}, st.lists(inner, min_size=1, max_size=3))
        | st.builds(lambda each: {"oneOf": each}, st.lists(inner, min_size=1, max_size=2))
        | st.builds(all_of, st.lists(inner, min_size=1, max_size=2), leaves)
    ),
    max_leaves=6,
)
DEFS = {"n": {"type": "integer"}, "tree": takes({"a": {"$ref": "#/$defs/tree"}, "b": {"type": "integer"}})}


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(schemas, values)
def test_what_is_admitted_is_valid_and_what_is_valid_is_admitted_unchanged(schema: Any, value: Any) -> None:
    whole = takes({"x": schema}, "x", **{"$defs": DEFS})
    gate = compile_gate(whole)
    raw = {"x": value}
    before = copy.deepcopy(raw)
    answer = gate.admit(raw)
    assert raw == before
    assert json.dumps(raw) == json.dumps(before)
    valid = jsonschema.Draft202012Validator(whole).is_valid
    if isinstance(answer, Admitted):
        assert valid(answer.args)
        assert gate.admit(answer.args) == Admitted(answer.args)
        assert gate.admit(json.dumps(raw)) == answer
    if valid(raw):
        assert isinstance(answer, Admitted)
        assert args_hash(answer.args) == args_hash(raw)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(schemas, values)
def test_the_quick_way_never_decides_otherwise_than_the_thorough_one(schema: Any, value: Any) -> None:
    gate = compile_gate(takes({"x": schema}, "x", **{"$defs": DEFS}))
    thorough = replace(gate, plainly=None, shape=replace(gate.shape, decides=False))
    assert thorough.admit({"x": value}) == gate.admit({"x": value})


@settings(max_examples=150, deadline=None)
@given(
    st.dictionaries(st.sampled_from(["text", "count", "share", "flag", "none", "alias", "other"]), values),
    st.integers(40, 400),
)
def test_a_glance_admits_nothing_that_a_look_would_not(raw: dict[str, Any], max_bytes: int) -> None:
    """Names, aliases, defaults, bounds and sizes: what is passed at a glance is what the whole gate makes of it."""
    kinds = {"text": "string", "count": "integer", "share": "number", "flag": "boolean", "none": "null"}
    properties: dict[str, Any] = {name: {"type": kind} for name, kind in kinds.items()}
    properties["count"]["default"] = 1
    properties["other"] = {"type": "string", "maxLength": 3}
    gate = compile_gate(takes(properties, "text"), aliases={"alias": "share"}, max_bytes=max_bytes)
    assert gate.plainly is not None
    assert gate.admit(raw) == replace(gate, plainly=None).admit(raw)


@pytest.mark.parametrize("character", ["a", "\x00", '"', "é", "\ud800", "\U0001f600"])
def test_no_glance_lets_larger_arguments_in(character: str) -> None:
    gate = compile_gate(takes({"x": {"type": "string"}}), max_bytes=500)
    for length in range(520):
        raw = {"x": character * length}
        assert gate.admit(raw) == replace(gate, plainly=None).admit(raw), length


def test_the_admitted_arguments_share_nothing_with_the_caller_s() -> None:
    gate = compile_gate(takes({"x": {}, "y": {}}))
    raw: dict[str, Any] = {"x": {"deep": [1, {"a": 2}]}, "y": [[]]}
    args = admitted(gate, raw)
    raw["x"]["deep"][1]["a"] = 3
    raw["y"][0].append(1)
    assert args == {"x": {"deep": [1, {"a": 2}]}, "y": [[]]}
    flat = {"n": 1}
    assert admitted(compile_gate(takes({"n": {"type": "integer"}})), flat) is not flat


def test_a_gate_of_types_alone_is_decided_without_the_validator() -> None:
    gate = compile_gate(takes({"a": {"type": "string"}, "b": {"type": "number", "minimum": 0}}, "a"))
    assert isinstance(gate.shape, Shape)
    quick = replace(gate, validator=None)
    assert admitted(quick, {"a": "x", "b": "1"}) == {"a": "x", "b": 1}


def test_what_only_some_schemas_and_values_need_is_imported_by_these_alone() -> None:
    code = (
        "import sys, ax_core.{module}; heavy = ('jsonschema', 'pydantic', 'pydantic_core', 'rfc8785', 'numpy'); "
        "print(*[name for name in heavy if name in sys.modules])"
    )
    env = {"PYTHONPATH": ":".join(sys.path)}

    def imported(module: str) -> list[str]:
        run = [sys.executable, "-c", code.format(module=module)]
        return subprocess.run(run, env=env, capture_output=True, text=True, check=True).stdout.split()

    assert imported("keys") == []
    assert imported("schema") == ["jsonschema"]


@pytest.mark.bench
def test_a_valid_call_passes_in_microseconds() -> None:
    gate = compile_gate(
        takes({"order_id": {"type": "string"}, "amount": {"type": "number"}, "note": {}}, "amount")
    )
    raw = {"order_id": "7", "amount": 10, "note": "x"}
    spent = min(timeit.repeat(lambda: gate.admit(raw), number=1000, repeat=5)) / 1000
    assert spent < 40e-6
    assert min(timeit.repeat(lambda: args_hash(raw), number=1000, repeat=5)) / 1000 < 20e-6
