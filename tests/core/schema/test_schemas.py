"""Schemas at registration: every valid one loads, every other is refused by name, nothing is ever fetched."""

from __future__ import annotations

import copy
import socket
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ax_core.errors import PolicyError
from ax_core.schema import Admitted, Invalid, SchemaError, compile_gate
from support.gates import admitted, one, refused, takes


@pytest.mark.parametrize(
    ("schema", "valid", "invalid"),
    [
        ({"type": ["string", "null"]}, ["a", None], [1, {}]),
        ({}, ["a", None, 1, [], {}], []),
        ({"description": "anything"}, [1, "a"], []),
        ({"type": "object"}, [{}, {"a": 1}], [1, None, []]),
        ({"enum": ["a", 1, None]}, ["a", 1, None], ["b", "1", True]),
        ({"const": {"a": [1]}}, [{"a": [1]}], [{"a": [True]}, {"a": 1}]),
        (True, [1, None, "a"], []),
        (False, [], [1, None]),
        ({"not": {"type": "string"}}, [1], ["a"]),
        ({"anyOf": [{"type": "integer"}, {"enum": ["a"]}]}, [1, "a"], ["b", 1.5]),
        ({"oneOf": [{"type": "integer"}, {"type": "number"}]}, [1.5], [1]),
        ({"multipleOf": 5}, [10, "a"], [7]),
        ({"const": "a", "enum": ["b"]}, [], ["a", "b"]),
        ({"type": "string", "const": "a", "enum": ["a", "b"]}, ["a"], ["b"]),
        ({"contains": {"const": 1}}, [[1, 2]], [[2]]),
        ({"propertyNames": {"pattern": "^a"}}, [{"ab": 1}], [{"b": 1}]),
        ({"minProperties": 1}, [{"a": 1}], [{}]),
        ({"dependentRequired": {"a": ["b"]}}, [{"a": 1, "b": 2}], [{"a": 1}]),
        ({"if": {"const": 1}, "then": False}, [2], [1]),
        (takes({"a": {}}, unevaluatedProperties=False), [{"a": 1}], [{"b": 1}]),
    ],
    ids=str,
)
def test_every_form_of_schema_loads_and_decides_as_json_schema_says(
    schema: Any, valid: list, invalid: list
) -> None:
    gate = one(schema)
    for value in valid:
        assert admitted(gate, {"x": value}) == {"x": value}
    for value in invalid:
        refused(gate, {"x": value})


@pytest.mark.parametrize(
    ("schema", "says"),
    [
        (takes({"x": {"type": "strnig"}}), "#/properties/x/type: unknown type 'strnig'"),
        (takes({"x": {"minimum": "x"}}), "#/properties/x/minimum"),
        (takes({"x": {"pattern": "("}}), r"#/properties/x/pattern: the pattern '\(' is refused"),
        (takes({"x": {"patternProperties": {"[": {}}}}), "#/properties/x/patternProperties"),
        (takes({"x": {"items": {"pattern": "a**b["}}}), "#/properties/x/items/pattern"),
        (takes({"x": {"$ref": "#/$defs/none"}}), r"'#/\$defs/none' leads nowhere"),
        (takes({"x": {"$ref": "#none"}}), "'#none' leads nowhere"),
        (takes({"x": {"$ref": "other.json"}}), "never fetched"),
        (takes({"x": {"$ref": "http://localhost:1/x.json"}}), "never fetched"),
        (takes({"x": {"not": {"$ref": "https://example.com/x"}}}), "never fetched"),
        (takes({"x": {"$ref": "#/required/0"}}, "y"), "no schema"),
        (takes({"x": {"$ref": "#/parts/p"}}, parts={"p": {"type": "strnig"}}), "#/parts/p/type"),
        (takes({"x": {"$ref": "#/properties/x"}}), "refers only to itself"),
        (takes({"x": {"anyOf": [{"$ref": "#/properties/x"}]}}), "refers only to itself"),
        (
            {"$schema": "http://json-schema.org/draft-04/schema#", "properties": {"x": {"$ref": None}}},
            "must be text",
        ),
        (takes({"x": {"$ref": 5}}), "type .string"),
        (takes({"x": {"required": "y"}}), "#/properties/x/required"),
        ({"type": "string"}, "accepts no object"),
        ({"enum": [1]}, "accepts no object"),
        ({"$schema": "http://example.com/mine"}, "dialect"),
        ({"$schema": "http://json-schema.org/draft-03/schema#"}, "dialect"),
        ({"properties": {"x": {"default": float("nan")}}}, "no JSON"),
        ({"properties": {1: {}}}, "text"),
        (
            takes({"x": {"patternProperties": {"a": {}}, "unevaluatedProperties": False}}),
            "additionalProperties",
        ),
        ([], "object or a boolean"),
        (None, "object or a boolean"),
        ("{}", "object or a boolean"),
    ],
    ids=str,
)
def test_a_schema_that_cannot_be_honoured_is_refused_by_name(schema: Any, says: str) -> None:
    with pytest.raises(SchemaError, match=says) as caught:
        compile_gate(schema)
    assert isinstance(caught.value, PolicyError)
    assert isinstance(caught.value, ValueError)


def test_no_schema_and_no_call_ever_opens_a_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    def forbidden(*args: Any, **kwargs: Any) -> None:
        raise AssertionError("a connection was opened")

    monkeypatch.setattr(socket, "socket", forbidden)
    monkeypatch.setattr(socket, "create_connection", forbidden)
    for reference in (
        "http://example.com/a",
        "https://json-schema.org/none",
        "ftp://x/y",
        "file:///etc/passwd",
    ):
        with pytest.raises(SchemaError, match="never fetched"):
            one({"$ref": reference})
    gate = one({"$ref": "https://json-schema.org/draft/2020-12/schema"})
    assert admitted(gate, {"x": {"type": "string"}})
    refused(gate, {"x": {"type": "strnig"}})


def test_local_references_of_every_kind_resolve() -> None:
    schema = takes(
        {
            "a": {"$ref": "#/$defs/n"},
            "b": {"$ref": "#/definitions/n"},
            "c": {"$ref": "#/properties/a"},
            "d": {"$ref": "#named"},
            "e": {"$ref": "https://example.com/mine#/$defs/n"},
            "f": {"$ref": "#/components/schemas/odd~1name~0"},
            "g": {"$ref": "#/$defs/n", "minimum": 5},
        },
        **{
            "$id": "https://example.com/mine",
            "$defs": {"n": {"type": "integer"}, "m": {"$anchor": "named", "type": "integer"}},
            "definitions": {"n": {"type": "integer"}},
            "components": {"schemas": {"odd/name~": {"type": "integer"}}},
        },
    )
    gate = compile_gate(schema)
    assert admitted(gate, dict.fromkeys("abcdefg", "7")) == dict.fromkeys("abcdefg", 7)
    for name in "abcdef":
        assert refused(gate, {name: "x"}).problems[0].path == name
    refused(gate, {"g": 4})


@pytest.mark.parametrize(
    ("dialect", "schema"),
    [
        (
            "http://json-schema.org/draft-04/schema#",
            {"minimum": 1, "exclusiveMinimum": True, "type": "number"},
        ),
        ("http://json-schema.org/draft-07/schema#", {"exclusiveMinimum": 1}),
        ("https://json-schema.org/draft/2019-09/schema", {"exclusiveMinimum": 1}),
        ("https://json-schema.org/draft/2020-12/schema", {"exclusiveMinimum": 1}),
        ("http://json-schema.org/schema#", {"exclusiveMinimum": 1}),
    ],
)
def test_the_dialect_is_what_the_schema_says(dialect: str, schema: dict) -> None:
    gate = compile_gate({"$schema": dialect, **takes({"x": schema}, "x")})
    assert admitted(gate, {"x": 2}) == {"x": 2}
    refused(gate, {"x": 1})


def test_beside_a_reference_older_dialects_see_nothing() -> None:
    beside = takes(
        {"x": {"$ref": "#/definitions/n", "type": "string"}}, "x", definitions={"n": {"type": "integer"}}
    )
    old = compile_gate({"$schema": "http://json-schema.org/draft-07/schema#", **beside})
    assert admitted(old, {"x": "5"}) == {"x": 5}
    refused(compile_gate(beside), {"x": "5"})


def test_an_older_spelling_without_a_dialect_is_read_as_what_it_is_and_remarked() -> None:
    gate = one({"type": "array", "items": [{"type": "integer"}, {"type": "string"}]})
    assert admitted(gate, {"x": ["1", "a"]}) == {"x": [1, "a"]}
    refused(gate, {"x": ["a", "a"]})
    assert "draft-07" in gate.remarks[0]
    older = one({"type": "number", "minimum": 1, "exclusiveMinimum": True})
    refused(older, {"x": 1})
    assert "draft-04" in older.remarks[0]


def test_a_guessed_dialect_never_makes_a_keyword_mean_nothing() -> None:
    for keyword in ({"const": 2}, {"prefixItems": [{}]}, {"dependentSchemas": {}}, {"propertyNames": {}}):
        with pytest.raises(SchemaError, match="exclusiveMinimum"):
            one({"minimum": 1, "exclusiveMinimum": True, **keyword})
    with pytest.raises(SchemaError, match="no dialect knows this"):
        one({"prefixItems": [{}], "dependencies": {"a": ["b"]}})
    gate = one({"dependencies": {"a": ["b"]}})
    refused(gate, {"x": {"a": 1}})
    assert "draft-07" in gate.remarks[0]
    said = compile_gate(
        {"$schema": "http://json-schema.org/draft-04/schema#", **takes({"x": {"const": 1}}, "x")}
    )
    assert said.remarks == ("#/properties/x: const is unknown to this dialect and ignored",)
    assert admitted(said, {"x": "a"}) == {"x": "a"}
    tuples = {"type": "array", "prefixItems": [{"type": "integer"}]}
    unread = compile_gate({"$schema": "http://json-schema.org/draft-07/schema#", **takes({"x": tuples})})
    assert admitted(unread, {"x": ["5"]}) == {"x": ["5"]}


def test_a_dynamic_reference_is_followed_on_the_way_it_is_reached() -> None:
    node = {"$dynamicAnchor": "node", **takes({"next": {"$dynamicRef": "#node"}, "n": {"type": "integer"}})}
    gate = compile_gate(takes({"x": {"$ref": "#/$defs/node"}}, **{"$defs": {"node": node}}))
    assert admitted(gate, {"x": {"n": "1", "next": {"n": 1}}}) == {"x": {"n": 1, "next": {"n": 1}}}
    refused(gate, {"x": {"next": {"next": {"n": "z"}}}})


def test_the_caller_s_schema_is_neither_changed_nor_shared() -> None:
    schema = takes({"x": {"oneOf": [takes({"t": {"const": "a"}})], "discriminator": {"propertyName": "t"}}})
    before = copy.deepcopy(schema)
    gate = compile_gate(schema, hidden=["y"])
    assert schema == before
    schema["properties"]["x"] = {"type": "string"}
    refused(gate, {"x": "text"})


def test_an_argument_named_like_a_keyword_is_an_argument() -> None:
    names = (
        "$ref",
        "type",
        "properties",
        "pattern",
        "default",
        "enum",
        "discriminator",
        "oneOf",
        "x-ax-branches",
    )
    gate = compile_gate(takes({name: {"type": "string"} for name in names}))
    assert admitted(gate, dict.fromkeys(names, "(")) == dict.fromkeys(names, "(")
    quoting = one(
        {
            "enum": [{"$ref": "http://example.com"}],
            "default": {"$ref": "#/none"},
            "examples": [{"pattern": "("}],
        }
    )
    assert admitted(quoting, {"x": {"$ref": "http://example.com"}})


KEYWORDS = """
type properties required items enum const $ref $defs $id $anchor $schema allOf anyOf oneOf not if then pattern
patternProperties additionalProperties discriminator default minimum minLength dependentSchemas $dynamicRef
"""
keywords = st.sampled_from(KEYWORDS.split())
words = st.sampled_from(["object", "string", "#", "#/$defs/a", "(", "a+", "x"])
odd = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | words,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(keywords | st.sampled_from("ab"), inner, max_size=4)
    ),
    max_leaves=12,
)


@settings(deadline=None)
@given(st.dictionaries(keywords, odd, max_size=4), st.dictionaries(st.sampled_from("ab"), odd, max_size=2))
def test_an_odd_schema_is_refused_or_works_and_never_crashes(schema: dict, args: dict) -> None:
    try:
        gate = compile_gate(schema)
    except SchemaError:
        return
    assert type(gate.admit(args)) in (Admitted, Invalid)
