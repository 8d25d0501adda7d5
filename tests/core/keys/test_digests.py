"""Digests, hashes and ids: equal for equal parts, different for any others, fixed in length."""

from __future__ import annotations

import re
import uuid
from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ax_core.keys import args_hash, digest, fingerprint, idempotency_key

parts = st.lists(st.text() | st.binary(), max_size=4)


@settings(deadline=None)
@given(parts, parts)
def test_two_sequences_of_parts_share_a_digest_only_if_they_are_equal(one: list, other: list) -> None:
    def as_bytes(each: list) -> list[bytes]:
        return [part.encode("utf-8", "surrogatepass") if isinstance(part, str) else part for part in each]

    assert (digest(*one) == digest(*other)) == (as_bytes(one) == as_bytes(other))


def test_part_boundaries_count() -> None:
    assert len({digest("ab", "c"), digest("a", "bc"), digest("abc"), digest("abc", ""), digest()}) == 5


def test_keys_are_compared_as_bytes_and_never_cut() -> None:
    """The digest decides, so no collation of any database can merge or split keys."""
    keys = ["Order-A", "order-a", "order-a ", "ordre-e", "ordre-é", "ordre-e\u0301", "x" * 255, "x" * 256]
    made = {digest(key) for key in keys}
    assert len(made) == len(keys)
    assert all(re.fullmatch("[0-9a-f]{64}", each) for each in made)


@pytest.mark.parametrize("content", ["\x00", "\ud800", "a\x00b", "😀", "\ufeffx"])
def test_a_digest_never_fails_on_content(content: str) -> None:
    assert digest(content) != digest(content + "\x00")


def test_an_argument_hash_names_its_rules_and_is_fixed_in_length() -> None:
    assert re.fullmatch("jcs1:[0-9a-f]{32}", args_hash({"a": 1}))
    assert args_hash({"a": 1, "b": 2.0}) == args_hash({"b": 2, "a": 1.0})
    assert args_hash({"a": 1}) != args_hash({"a": "1"})
    assert args_hash({"a": Decimal("1.10")}) == args_hash({"a": Decimal("1.1")})
    assert args_hash({}) != args_hash([]) != args_hash(None)


def test_hashes_of_known_arguments_never_change() -> None:
    """Stored hashes outlive a release: these values may change only with the version tag."""
    assert args_hash({"order_id": "7", "amount": 10}) == "jcs1:4cddcb0d1d86588c488589635d3e28ce"
    assert fingerprint("refund", "jcs1:0") == "4d1a041800de23997f218b5cc6722882"
    assert idempotency_key("thread", "call-1", b"\x00") == "2b945ff5-b81b-8fb4-b20f-569cbe1471c2"


def test_tools_of_one_name_from_two_servers_share_no_fingerprint() -> None:
    args = args_hash({"to": "a"})
    assert fingerprint("crm/mail.send", args) != fingerprint("erp/mail.send", args)
    assert fingerprint("mail.send", args) == fingerprint("mail.send", args)
    assert re.fullmatch("[0-9a-f]{32}", fingerprint("mail.send", args))


@settings(deadline=None)
@given(parts)
def test_an_idempotency_key_is_a_version_8_uuid(each: list) -> None:
    text = idempotency_key(*each)
    made = uuid.UUID(text)
    assert str(made) == text
    assert len(text) == 36
    assert made.version == 8
    assert made.variant == uuid.RFC_4122


def test_idempotency_keys_of_different_intents_differ() -> None:
    assert len({idempotency_key("run", str(n)) for n in range(10_000)}) == 10_000
