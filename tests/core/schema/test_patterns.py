"""Patterns are matched in bounded time, whatever the pattern and the text."""

from __future__ import annotations

import time

import pytest

from ax_core.schema import SchemaError
from ax_core.schema.patterns import compiled
from support.gates import admitted, one, refused


@pytest.mark.parametrize(
    "pattern",
    [
        "^(a+)+$",
        "^(a|a)*$",
        "^(a|aa)+$",
        "^(([a-z])+.)+[A-Z]([a-z])+$",
        "(.*a){20}$",
        "^(a?){60}a{60}$",
        r"^([\w-\.]+)@(([\w-]+\.)+)x$",
        r"(\w*)*!!$",
        r"^(?!b)a.*a.*!!$",
        r"^(?=a)\w+$",
    ],
)
@pytest.mark.parametrize("keyword", ["pattern", "propertyNames", "patternProperties"])
def test_a_hostile_text_is_refused_promptly(pattern: str, keyword: str) -> None:
    text = "a" * 50_000 + "!"
    if keyword == "pattern":
        gate, value = one({"type": "string", "pattern": pattern}), text
    elif keyword == "propertyNames":
        gate, value = one({"propertyNames": {"pattern": pattern}}), {text: 1}
    else:
        gate, value = one({"patternProperties": {pattern: {}}, "additionalProperties": False}), {text: 1}
    began = time.process_time()
    refused(gate, {"x": value})
    assert time.process_time() - began < 1


@pytest.mark.parametrize(
    "pattern", [r"^(?=a)(a+)+$", r"(?!x)(a|ab)*c", r"(a*)\1(b*)*", r"(?=x)(a?b?){5}", r"(?=a)" + "a?" * 40]
)
def test_what_only_a_backtracking_engine_knows_and_could_take_for_ever_is_refused_at_registration(
    pattern: str,
) -> None:
    with pytest.raises(SchemaError, match="for ever"):
        one({"pattern": pattern})


@pytest.mark.parametrize(
    ("pattern", "valid", "invalid"),
    [
        (r"^(?=.*[a-z])(?=.*\d).{8,}$", ["abcdefg1"], ["abcdefgh", "abc1", "a" * 20_000 + "1"]),
        (r"^(?!.*\.\.)[\w.]+@[\w.]+\.\w+$", ["a.b@c.de"], ["a..b@c.de", "a@b"]),
        (r"^(?:(?!foo).)*$", ["bar"], ["a foo b"]),
        (r"^(\w)\1$", ["aa"], ["ab"]),
        (r"^[\w-\.]+@([\w-]+\.)+[\w-]{2,4}$", ["a-b.c@x.co.uk"], ["a@b", "@x.de"]),
        (r"^\p{L}+$", ["é"], ["1"]),
        (r"^(?<year>\d{4})-\d\d$", ["2026-03"], ["26-03"]),
        (r"^a\/b$", ["a/b"], ["ab"]),
        (r"^[[]&&]$", ["[&&]"], ["["]),
        (r"^[^\]]+\Z", ["a"], ["]"]),
        ("^abc$", ["abc"], ["abc\n", "ABC"]),
        ("^(?!x)abc$", ["abc"], ["abc\n"]),
        ("b", ["abc"], ["ac"]),
        ("", ["", "x"], []),
        (r"^a{2,3}$", ["aa", "aaa"], ["a", "aaaa"]),
        (r"^x{a$", ["x{a"], ["xa"]),
    ],
)  # fmt: skip
def test_patterns_mean_what_json_schema_says(pattern: str, valid: list[str], invalid: list[str]) -> None:
    gate = one({"type": "string", "pattern": pattern})
    for text in valid:
        assert admitted(gate, {"x": text}) == {"x": text}
    for text in invalid:
        refused(gate, {"x": text})


@pytest.mark.parametrize(
    "pattern",
    [
        r"(?:(?!foo).)*bar",
        r"^(?!b).*a.*b",
        r"(a+)\1+$",
        r"(?=a).*.*b",
        r"^(?=.*x)(?=.*y).*z",
        r"(?<=a)a*b?c?d*$",
    ],
)
def test_the_longest_text_that_a_backtracking_match_gets_is_answered_in_bounded_time(pattern: str) -> None:
    longest = compiled(pattern).longest
    assert longest is not None
    gate = one({"type": "array", "items": {"pattern": pattern}})
    began = time.process_time()
    gate.admit({"x": ["a" * longest] * (900_000 // longest)})
    assert time.process_time() - began < 8


def test_a_text_too_long_to_be_matched_says_so() -> None:
    gate = one({"pattern": r"^(?!b)\w+$"})
    assert "of at most 10000 characters" in refused(gate, {"x": "a" * 10_001}).for_model()


def test_an_absurd_pattern_is_refused() -> None:
    for pattern in ("a" * 10_001, "(" * 5000):
        with pytest.raises(SchemaError):
            one({"pattern": pattern})
