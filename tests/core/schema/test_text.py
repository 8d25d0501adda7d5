"""Arguments that come as text: one JSON object, decoded once, never guessed."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ax_core.keys import args_hash
from ax_core.schema import compile_gate
from support.gates import admitted, refused, takes

SEND = compile_gate(takes({"to": {"type": "string"}, "n": {"type": "number"}}))


def test_spelling_of_the_text_does_not_count() -> None:
    one = admitted(SEND, '{"to":"\\u00e9","n":1}')
    other = admitted(SEND, ' { "n" : 1.0,\n "to" : "é" } ')
    assert args_hash(one) == args_hash(other) == args_hash(admitted(SEND, {"to": "é", "n": 1}))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('{"to": "a', "before the JSON is complete"),
        ('{"to":', "before the JSON is complete"),
        ("{", "no JSON from character 2 on"),
        ('{"to":"a"}<|end|>', "other text follows"),
        ('{"to":"a"}{"to":"b"}', "send exactly one JSON object"),
        ('{"to":"a"} {}', "other text follows"),
        ('{"to":"a",}', "no JSON"),
        ("{'to':'a'}", "no JSON"),
        ("```json\n{}\n```", "no JSON"),
        ('{"to":"a","to":"b"}', "twice"),
        ('{"n": NaN}', "NaN"),
        ('{"n": -Infinity}', "Infinity"),
        ('{"n": 1e400}', "beyond the range"),
        ('{"to":"a\nb"}', "no JSON"),
        ("[1]", "one JSON object"),
        ('"{}"', "one JSON object"),
        ("0", "one JSON object"),
        ("false", "one JSON object"),
    ],
)
def test_what_is_not_exactly_one_object_is_refused_and_says_why(text: str, says: str) -> None:
    assert says in refused(SEND, text).for_model() or text == "{"
    assert "to" not in (problem.path for problem in refused(SEND, text).problems)


@settings(deadline=None)
@given(st.dictionaries(st.text(max_size=5), st.text(max_size=20), min_size=1), st.data())
def test_a_truncated_object_is_never_executed(args: dict[str, str], data: st.DataObject) -> None:
    text = json.dumps(args)
    cut = data.draw(st.integers(1, len(text) - 1))
    refused(compile_gate(True), text[:cut])


@pytest.mark.parametrize(
    "raw", [[], [1], 5, 0, False, True, "5", b"\xff", object(), (1,), {1: 2}, {"to": object()}]
)
def test_what_is_no_object_is_refused(raw: Any) -> None:
    refused(SEND, raw)
    refused(compile_gate(True), raw)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_nan_and_infinities_are_refused_where_they_stand(value: float) -> None:
    gate = compile_gate(takes({"n": {"type": "number"}, "list": {"type": "array"}}))
    assert refused(gate, {"n": value}).problems[0].path == "n"
    assert refused(gate, {"list": [{"deep": value}]}).problems[0].path == "list[0].deep"


def test_nul_and_emoji_pass_and_lone_surrogates_are_refused() -> None:
    for text in ("a\x00b", "😀", "\ufeff"):
        assert admitted(SEND, {"to": text}) == {"to": text}
        assert admitted(SEND, json.dumps({"to": text})) == {"to": text}
    for raw in ({"to": "\ud800"}, '{"to": "\\ud800"}', {"\udfff": 1}):
        assert refused(SEND, raw).problems[0].kind == "encoding"
    assert refused(SEND, {"to": "\ud800"}).problems[0].path == "to"
