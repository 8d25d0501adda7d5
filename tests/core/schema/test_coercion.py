"""What is read as another type: the published table, row by row, and never by looks."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest

from ax_core.keys import args_hash
from ax_core.schema import Admitted, compile_gate
from ax_core.schema.coerce import TABLE, Rule, table_markdown
from support.gates import admitted, one, refused, takes

TYPES = ("string", "integer", "number", "boolean", "object", "array", "null")


@pytest.mark.parametrize("rule", TABLE, ids=lambda rule: f"{rule.example} for {rule.expected}")
def test_the_gate_does_what_the_published_table_says(rule: Rule) -> None:
    answer = one({"type": rule.expected}).admit({"x": json.loads(rule.example)})
    if rule.verdict == "refused":
        assert not isinstance(answer, Admitted)
        [problem] = answer.problems
        assert (problem.path, problem.expected) == ("x", rule.expected)
        assert rule.expected in problem.message
        return
    assert isinstance(answer, Admitted)
    wanted = json.loads(rule.becomes or "")
    assert answer.args == {"x": wanted}
    assert type(answer.args["x"]) is type(wanted)
    assert len(answer.notes) == (rule.verdict == "read")


def test_the_table_has_a_row_for_every_pair_of_types_and_every_row_reaches_the_docs() -> None:
    assert {(rule.given, rule.expected) for rule in TABLE} == set(itertools.product(TYPES, TYPES))
    table = table_markdown()
    assert all(f"`{rule.example}`" in table for rule in TABLE if rule.when)


def test_a_reading_is_recorded_with_what_came_and_what_it_became() -> None:
    answer = compile_gate(takes({"quantity": {"type": "integer"}})).admit({"quantity": "50"})
    assert answer == Admitted({"quantity": 50}, ("quantity: text '50' read as integer 50",))


@pytest.mark.parametrize("given", ["3.9", 3.9, None, "", "1e3", "0x10", "٥٠", "5٠", "1_000", "--5", "5 0"])
def test_a_lossy_or_ambiguous_number_names_the_field_and_the_type(given: Any) -> None:
    message = refused(one({"type": "integer"}), {"x": given}).for_model()
    assert "x: expected integer, got" in message
    if given == 3.9:
        assert "never cut off" in message


@pytest.mark.parametrize(
    "text", ["12345", "true", "null", "[1]", '{"a":1}', "007", "", " x ", "\u00e9e\u0301"]
)
def test_a_text_field_gets_the_very_same_text_and_hashes_as_text(text: str) -> None:
    for gate in (one({"type": "string"}), one({"type": ["string", "null"]}), one({}), one({"minLength": 0})):
        args = admitted(gate, {"x": text})
        assert args == {"x": text}
        assert args_hash(args) == args_hash({"x": text})
    assert admitted(one({"anyOf": [{"type": "integer"}, {"type": "string"}]}), {"x": text}) == {"x": text}


def test_an_object_in_text_is_decoded_once_because_the_schema_says_object() -> None:
    gate = compile_gate(takes({"slot": {"type": "object"}, "title": {"type": "string"}}))
    args = admitted(gate, {"slot": '{"day": "mo", "raw": "{\\"b\\": 1}"}', "title": '{"a": 1}'})
    assert args == {"slot": {"day": "mo", "raw": '{"b": 1}'}, "title": '{"a": 1}'}


def test_text_within_a_decoded_object_is_read_by_its_own_schema() -> None:
    inner = takes({"n": {"type": "integer"}, "more": {"type": "object"}, "label": {"type": "string"}})
    sent = {"n": "7", "more": '{"a": "1"}', "label": "7"}
    args = admitted(one(inner), {"x": json.dumps(sent)})
    assert args == {"x": {"n": 7, "more": {"a": "1"}, "label": "7"}}


@pytest.mark.parametrize("depth", [2, 3, 40])
def test_text_within_text_is_refused_with_what_to_do(depth: int) -> None:
    text: Any = {"day": "mo"}
    for _ in range(min(depth, 8)):
        text = json.dumps(text)
    message = refused(one({"type": "object"}), {"x": text}).for_model()
    assert "send the object itself" in message


@pytest.mark.parametrize(
    "text", ['{"a": 1', '{"a": 1}}', '{"a": 1}{"b": 2}', "{'a': 1}", '{"a": NaN}', '{"a":1,"a":2}']
)
def test_broken_text_for_an_object_is_refused(text: str) -> None:
    assert "x: expected object" in refused(one({"type": "object"}), {"x": text}).for_model()


def test_a_decoded_object_is_held_to_the_same_limits_as_any_other() -> None:
    deep = '{"a":' * 70 + "1" + "}" * 70
    assert refused(one({"type": "object"}), {"x": deep}).problems[0].kind == "depth"
    assert refused(one({"type": "object"}), {"x": '{"a": "\\ud800"}'}).problems[0].kind == "encoding"


@pytest.mark.parametrize("value", ["false", "False", "FALSE", " false "])
def test_the_word_false_is_false(value: str) -> None:
    assert admitted(one({"type": "boolean"}), {"x": value}) == {"x": False}


@pytest.mark.parametrize("value", ["0", "no", "off", 0, 1, "", "maybe", [], None, "f", "1", 0.0, {}])
def test_nothing_becomes_a_boolean_by_truthiness(value: Any) -> None:
    assert refused(one({"type": "boolean"}), {"x": value}).problems[0].expected == "boolean"


@pytest.mark.parametrize(
    "schema", [{"type": "number"}, {"type": "integer"}, {"type": "string"}, {"enum": [0, 1]}, {"const": 1}]
)
@pytest.mark.parametrize("value", [True, False])
def test_a_boolean_is_no_number_no_text_and_no_member_of_an_enum_of_numbers(schema: Any, value: bool) -> None:
    refused(one(schema), {"x": value})
    refused(one({"enum": [{"a": [1]}, {"a": [0]}]}), {"x": {"a": [value]}})


def test_enum_and_const_compare_by_json_type() -> None:
    gate = one({"enum": [1, 2]})
    refused(gate, {"x": "1"})
    assert admitted(gate, {"x": 1.0}) == {"x": 1.0}
    refused(one({"const": "1"}), {"x": 1})
    assert admitted(one({"type": "integer", "enum": [1, 2]}), {"x": "1"}) == {"x": 1}


def test_long_numbers_are_exact_to_the_last_digit() -> None:
    gate = one({"type": "integer"})
    for given in ("1234567890123456789", 1234567890123456789, 9007199254740993, "9" * 1000, -(10**999)):
        args = admitted(gate, {"x": given})
        assert args == {"x": int(given)}
        assert str(int(given)) in json.dumps(args)
    assert admitted(gate, '{"x": 1234567890123456789}') == {"x": 1234567890123456789}
    assert args_hash(admitted(gate, {"x": "9007199254740993"})) != args_hash({"x": 9007199254740992})


@pytest.mark.parametrize(
    "given", ['{"x": 1e400}', '{"x": "1e400"}', f'{{"x": {"9" * 5000}}}', f'{{"x": "{"9" * 5000}"}}']
)
def test_numbers_beyond_all_bounds_are_refused_without_hanging(given: str) -> None:
    for kind in ("integer", "number"):
        [problem] = refused(one({"type": kind}), given).problems
        assert problem.kind == ("type" if '"1e' in given or '"9' in given else "syntax")
    refused(one({"type": "integer"}), {"x": 10**5000})
    refused(one({"type": "integer"}), {"x": "9" * 1001})


def test_a_type_that_is_accepted_is_never_read_as_another() -> None:
    gate = one({"anyOf": [{"type": "object"}, {"type": "string"}, {"type": "number"}]})
    for value in ('{"a": 1}', "1", "1.0"):
        assert admitted(gate, {"x": value}) == {"x": value}


def test_readings_reach_arrays_maps_tuples_references_and_optional_values() -> None:
    assert admitted(one({"type": "array", "items": {"type": "integer"}}), {"x": ["1", 2]}) == {"x": [1, 2]}
    assert admitted(one({"additionalProperties": {"type": "integer"}}), {"x": {"a": "1"}}) == {"x": {"a": 1}}
    tuple_of = {"type": "array", "prefixItems": [{"type": "integer"}, {"type": "string"}]}
    assert admitted(one(tuple_of), {"x": ["1", "2"]}) == {"x": [1, "2"]}
    assert admitted(one({"anyOf": [{"type": "integer"}, {"type": "null"}]}), {"x": "1"}) == {"x": 1}
    assert admitted(one({"allOf": [{"type": "integer"}], "minimum": 1}), {"x": "1"}) == {"x": 1}
    gate = compile_gate(takes({"x": {"$ref": "#/$defs/n"}}, **{"$defs": {"n": {"type": "integer"}}}))
    assert admitted(gate, {"x": "1"}) == {"x": 1}


def test_where_alternatives_read_differently_nothing_is_read() -> None:
    gate = one({"anyOf": [takes({"n": {"type": "integer"}}, "n"), takes({"n": {"type": "string"}})]})
    assert admitted(gate, {"x": {"n": "5"}}) == {"x": {"n": "5"}}


def test_a_value_that_was_read_is_still_held_against_the_schema() -> None:
    gate = one({"type": "integer", "minimum": 100})
    assert "at least 100" in refused(gate, {"x": "50"}).for_model()
    assert admitted(gate, {"x": "100"}) == {"x": 100}
