"""What the codec stores, as text."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ax_core.codec import Codec

NEVER_STORED = ("\0", *map(chr, (0xD800, 0xDFFF)))


def stored(codec: Codec, value: Any) -> str:
    """The text of a value that must be kept, and whose text every database must take."""
    encoded = codec.encode(value)
    assert not encoded.opaque, encoded
    assert encoded.text.isascii()
    json.loads(encoded.text, parse_constant=pytest.fail)
    assert not any(odd in text for text in texts(json.loads(encoded.text)) for odd in NEVER_STORED)
    return encoded.text


def texts(node: Any) -> list[str]:
    if isinstance(node, str):
        return [node]
    if isinstance(node, list):
        return [t for item in node for t in texts(item)]
    if isinstance(node, dict):
        return [t for pair in node.items() for part in pair for t in texts(part)]
    return []
