"""Encoding what most tools return costs little more than writing it as JSON does."""

from __future__ import annotations

import json
import timeit
from collections.abc import Callable
from typing import Any

import pytest

from ax_core.codec import Codec


def seconds(call: Callable[[], Any]) -> float:
    return min(timeit.repeat(call, number=500, repeat=200)) / 500


@pytest.mark.bench
@pytest.mark.parametrize(
    "value", ["ok", 7, {"order_id": "7", "amount": 10.5, "status": "refunded"}], ids=repr
)
def test_a_small_plain_result_is_encoded_in_five_microseconds(value: Any) -> None:
    codec = Codec()
    # on a busy or slow machine: twice what json.dumps needs
    assert seconds(lambda: codec.encode(value)) < max(5e-6, 2 * seconds(lambda: json.dumps(value)))
