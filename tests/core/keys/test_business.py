"""Business keys: declared fields, exact by default, normalised only where a rule says so."""

from __future__ import annotations

import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ax_core.keys import NotCanonical, business_key, digest


def key(args: dict[str, Any], *fields: str, **rules: Any) -> str:
    return digest(*business_key(fields, args, rules))


def test_only_the_declared_fields_count_in_any_order() -> None:
    one = business_key(("order_id", "amount"), {"order_id": "7", "amount": 10, "note": "a"})
    assert one == business_key(("amount", "order_id"), {"note": "b", "amount": 10, "order_id": "7"})
    assert one == ("amount", "text", "10", "order_id", "text", '"7"')
    many = dict.fromkeys("abcdefgh", 1)
    assert business_key(reversed(many), many)[::3] == tuple("abcdefgh")
    assert business_key("order_id", {"order_id": "7"}) == ("order_id", "text", '"7"')


def test_missing_null_and_empty_are_three_different_things() -> None:
    assert (
        len({key(args, "a") for args in ({}, {"a": None}, {"a": ""}, {"a": "missing"}, {"a": "null"})}) == 5
    )


def test_dotted_paths_go_inside_objects_and_lists() -> None:
    args = {"order": {"id": "7", "lines": [{"sku": 9}]}, "a.b": 1, "a": {"b": 2}}
    assert business_key(["order.id"], args)[2] == '"7"'
    assert business_key(["order.lines.0.sku"], args)[2] == "9"
    assert business_key(["a.b"], args)[2] == "1"
    for field in (
        "order.nothing",
        "order.id.deeper",
        "order.lines.1.sku",
        "order.lines.x",
        "order.lines.-1",
        "no.way",
    ):
        assert business_key([field], args)[1:] == ("missing", "")


MONEY = ["10", "10.0", "+10", "1e1", "10.00", "0010"]


def test_money_as_text_is_compared_exactly_unless_a_rule_is_declared() -> None:
    assert len({key({"amount": text}, "amount") for text in MONEY}) == len(MONEY)


def test_declared_decimals_agree_in_every_spelling_and_differ_by_every_digit() -> None:
    same = {key({"amount": value}, "amount", amount="decimal") for value in [*MONEY, 10, 10.0]}
    assert len(same) == 1
    large = [{"amount": f"100000000000000000.{digit}"} for digit in (1, 2)]
    assert key(large[0], "amount", amount="decimal") != key(large[1], "amount", amount="decimal")
    assert key({"amount": "1e999999999"}, "amount", amount="decimal") != key(
        {"amount": "1e999999998"}, "amount", amount="decimal"
    )
    assert key({"amount": "-0.0"}, "amount", amount="decimal") == key(
        {"amount": 0}, "amount", amount="decimal"
    )
    assert business_key(["amount"], {"amount": "-12.50"}, {"amount": "decimal"}) == (
        "amount",
        "decimal",
        '"-125e-1"',
    )


@settings(deadline=None)
@given(st.decimals(allow_nan=False, allow_infinity=False), st.decimals(allow_nan=False, allow_infinity=False))
def test_decimals_share_a_key_exactly_if_they_are_equal(one: Any, other: Any) -> None:
    keys = [key({"n": str(value)}, "n", n="decimal") for value in (one, other)]
    assert (keys[0] == keys[1]) == (one == other)


@pytest.mark.parametrize("value", ["abc", "", " 10", "1_000", "0x10", "٥٠", "NaN", "1e", True, [1], {"a": 1}])
def test_a_value_that_is_no_decimal_is_refused_by_the_rule(value: Any) -> None:
    with pytest.raises(NotCanonical, match=r"\$\.amount"):
        key({"amount": value}, "amount", amount="decimal")


def test_a_null_stays_null_under_every_rule() -> None:
    for rule in ("text", "decimal", "casefold", "whitespace"):
        assert business_key(["a"], {"a": None}, {"a": rule})[2] == "null"


def test_whitespace_counts_unless_a_rule_collapses_it_and_the_rule_shows() -> None:
    texts = ["Hi  there", "Hi\nthere", "Hi there", "Hi there "]
    assert len({key({"text": text}, "text") for text in texts}) == 4
    collapsed = {business_key(["text"], {"text": text}, {"text": "whitespace"}) for text in texts}
    assert collapsed == {("text", "whitespace", '"Hi there"')}


def test_rules_apply_in_order_and_only_to_text() -> None:
    rule = {"a": ("whitespace", "casefold")}
    assert business_key(["a"], {"a": " STRASSE  1"}, rule) == business_key(["a"], {"a": "straße 1"}, rule)
    assert business_key(["a"], {"a": [" X "]}, rule)[2] == '[" X "]'


def test_an_alias_collapses_before_hashing_and_a_contradiction_is_refused() -> None:
    aliases = {"chainId": "network"}
    one = business_key(["network"], {"chainId": 1}, None, aliases)
    assert one == business_key(["network"], {"network": 1}, None, aliases)
    assert one == business_key(["network"], {"network": 1.0, "chainId": 1}, None, aliases)
    with pytest.raises(NotCanonical, match="different values"):
        business_key(["network"], {"network": 2, "chainId": 1}, None, aliases)


def test_a_rule_that_is_unknown_or_applies_to_nothing_is_an_error() -> None:
    with pytest.raises(ValueError, match="unknown rule 'upper'"):
        business_key(["a"], {}, {"a": "upper"})
    with pytest.raises(ValueError, match="not in the key"):
        business_key(["a"], {}, {"b": "text"})


def test_a_hostile_exponent_costs_nothing() -> None:
    began = time.process_time()
    key({"n": "9" * 1000 + "e999999999"}, "n", n="decimal")
    assert time.process_time() - began < 0.5
