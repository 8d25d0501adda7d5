"""The canonical form: one text per value, whatever its spelling; refusals instead of collisions."""

from __future__ import annotations

import json
import math
import subprocess
import sys
import time
from typing import Any

import pytest
import rfc8785
from hypothesis import given, settings
from hypothesis import strategies as st

from ax_core.keys import MAX_DEPTH, MAX_DIGITS, NotCanonical, canonical
from ax_core.keys.forms import FORMS, table_markdown
from ax_core.keys.jcs import canonical_and_text

# Keys on both sides of the surrogates, where UTF-16 order and code point order differ.
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8) | st.sampled_from(
    ["\ufffd", "\U00010000"]
)
scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts
trees = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=20,
)


def shuffled(value: Any) -> Any:
    """The same value with every object's keys in reverse."""
    if isinstance(value, dict):
        return {key: shuffled(each) for key, each in reversed(list(value.items()))}
    return [shuffled(each) for each in value] if isinstance(value, list) else value


def same(read: Any, value: Any) -> bool:
    """Equal, where a float may have been read back as the integer with its text."""
    if isinstance(value, dict):
        return read.keys() == value.keys() and all(same(read[key], value[key]) for key in value)
    if isinstance(value, list):
        return len(read) == len(value) and all(map(same, read, value))
    return (
        (float(read) == value) if isinstance(value, float) else (read == value and type(read) is type(value))
    )


def within_doubles(value: Any) -> bool:
    if isinstance(value, dict):
        return all(within_doubles(each) for each in value.values())
    if isinstance(value, list):
        return all(within_doubles(each) for each in value)
    return isinstance(value, bool) or not isinstance(value, int) or abs(value) < 2**53


@settings(deadline=None)
@given(trees)
def test_key_order_never_counts(tree: Any) -> None:
    assert canonical(shuffled(tree)) == canonical(tree)


@settings(deadline=None)
@given(trees)
def test_the_form_is_json_of_the_same_value_and_its_own_form(tree: Any) -> None:
    form = canonical(tree)
    assert same(json.loads(form), tree)
    assert canonical(json.loads(form)) == form


@settings(deadline=None)
@given(trees.filter(within_doubles))
def test_within_the_range_of_doubles_it_is_rfc_8785(tree: Any) -> None:
    assert canonical(tree) == rfc8785.dumps(tree)


@settings(deadline=None)
@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_float_comes_back_exactly(value: float) -> None:
    assert float(canonical(value)) == value


def test_the_same_arguments_in_another_order_or_spelling_have_one_form() -> None:
    one = canonical({"a": 5, "b": {"x": 1, "y": 2}})
    assert canonical({"b": {"y": 2, "x": 1}, "a": 5}) == one
    assert canonical(json.loads('{ "b":{"y":2,\n"x":1}, "a":5 }')) == one
    assert canonical(json.loads('{"n":"\\u00e9"}')) == canonical({"n": "é"})
    assert canonical([1, 2]) != canonical([2, 1])


def test_values_that_python_calls_equal_are_told_apart_where_json_does() -> None:
    assert canonical(1) == canonical(1.0) == canonical(1e0) == b"1"
    assert len({canonical(each) for each in (1, True, "1")}) == 3
    assert canonical([True]) != canonical([1])
    assert canonical(0.0) == canonical(-0.0) == canonical(0) == b"0"
    assert canonical(0.1 + 0.2) != canonical(0.3)
    assert canonical(10**20) == canonical(1e20)
    assert canonical(10**21) != canonical(1e21) == b"1e+21"
    assert canonical("10") != canonical("10.0")
    assert canonical("\u00e9") != canonical("e\u0301")


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_nan_and_infinities_are_refused_where_they_stand(value: float) -> None:
    with pytest.raises(NotCanonical) as caught:
        canonical({"a": [1, {"b": value}]})
    assert caught.value.path == "$.a[1].b"


@pytest.mark.parametrize("key", [1, None, True, 1.5, ("a",)])
def test_a_key_that_is_no_text_is_refused_and_no_entry_is_lost(key: Any) -> None:
    for value in ({key: "a", "1": "b"}, {"deep": [{key: "a"}]}):
        with pytest.raises(NotCanonical, match="keys of JSON objects are text"):
            canonical(value)


@settings(deadline=None)
@given(trees)
def test_the_text_that_is_stored_stands_as_given_beside_its_canonical_form(value: Any) -> None:
    assert canonical_and_text(value) == (canonical(value), json.dumps(value, separators=(",", ":")))


@pytest.mark.parametrize("text", ["\x7f", "\x00", "\u2028", "é", "\\u0041", '"', "/"])
def test_the_two_are_one_only_where_they_are_the_same(text: str) -> None:
    value = {text: text}
    assert canonical_and_text(value) == (canonical(value), json.dumps(value, separators=(",", ":")))


@pytest.mark.parametrize("value", [{"b": 1, "a": 2}, {"x": [{"b": 1, "a": 2}]}, {"b": "", "a": 1.0}])
def test_the_text_keeps_the_order_of_keys_that_the_canonical_form_does_not(value: Any) -> None:
    written, text = canonical_and_text(value)
    assert text == json.dumps(value, separators=(",", ":"))
    assert written == canonical(value) != text.encode()


@pytest.mark.parametrize("value", [(1, 2), {1}, b"x", object(), int, "\ud800", {"\udfff": 1}])
def test_what_is_no_json_is_refused(value: Any) -> None:
    with pytest.raises(NotCanonical):
        canonical({"a": value})


def test_long_integers_are_exact_and_absurd_ones_are_refused_at_once() -> None:
    for value in (1234567890123456789, 9007199254740993, -(10**999), 10**MAX_DIGITS - 1):
        assert canonical(value) == str(value).encode()
    began = time.process_time()
    for huge in (10**MAX_DIGITS, 1 << 2_000_000):
        with pytest.raises(NotCanonical, match="digits"):
            canonical([huge])
    assert time.process_time() - began < 0.5


def test_nesting_is_bounded_without_a_recursion_error() -> None:
    deep: Any = 0
    for _ in range(MAX_DEPTH):
        deep = [deep]
    assert canonical(deep)
    for much in (10, 100_000):
        deeper = deep
        for _ in range(much):
            deeper = {"a": deeper}
        with pytest.raises(NotCanonical, match="deep"):
            canonical(deeper)
    loop: list[Any] = []
    loop += [loop, loop]
    with pytest.raises(NotCanonical, match="deep"):
        canonical(loop)


def test_nul_and_control_characters_are_escapes_and_all_else_is_utf_8() -> None:
    assert canonical("a\x00\x1f\x7f😀") == b'"a\\u0000\\u001f\x7f\xf0\x9f\x98\x80"'


def test_the_form_does_not_depend_on_the_hash_seed(tmp_path: Any) -> None:
    code = "from ax_core.keys import args_hash; print(args_hash({'b': {'x', 'y', 'z'}, 'a': 1.5}))"
    seen = {
        subprocess.run(
            [sys.executable, "-c", code], env={"PYTHONPATH": ":".join(sys.path), "PYTHONHASHSEED": seed},
            capture_output=True, text=True, check=True,
        ).stdout
        for seed in ("1", "2", "3")
    }  # fmt: skip
    assert len(seen) == 1


def test_the_published_table_is_what_the_code_does() -> None:
    table = table_markdown()
    assert table.count("refused") == 5
    assert len(table.splitlines()) == len(FORMS) + 2
    assert "| `1e20` | `100000000000000000000` |" in table
