"""Encoding what most tools return costs no more than writing it as JSON does."""

from __future__ import annotations

import timeit
from typing import Any

import pytest

from ax_core.codec import Codec


@pytest.mark.bench
@pytest.mark.parametrize("value", ["ok", 7, {"order_id": "7", "amount": 10.5, "status": "refunded"}], ids=repr)
def test_a_small_plain_result_is_encoded_in_five_microseconds(value: Any) -> None:
    codec = Codec()
    assert min(timeit.repeat(lambda: codec.encode(value), number=2_000, repeat=50)) / 2_000 < 5e-6
