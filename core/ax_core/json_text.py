"""JSON text, written quickly: ASCII only, no NaN, no blanks."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

_encoder = json.JSONEncoder(allow_nan=False, check_circular=False, separators=(",", ":"))


def _quick() -> Callable[[Any], str] | None:
    """The encoder's inner C function made once; `encode` makes one per call, half a small value's cost."""
    try:
        make = json.encoder.c_make_encoder  # type: ignore[attr-defined]
        escape = json.encoder.encode_basestring_ascii
        chunks = make(None, _encoder.default, escape, None, ":", ",", False, False, False)
        if "".join(chunks([{"a": "é"}], 0)) != _encoder.encode([{"a": "é"}]):
            return None
    except Exception:  # another Python than the ones this was measured on
        return None
    return lambda value: "".join(chunks(value, 0))


dumps: Callable[[Any], str] = _quick() or _encoder.encode
