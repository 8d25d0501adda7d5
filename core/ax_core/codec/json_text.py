"""JSON text both ways, strict and quick."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, NoReturn

from ax_core.codec.encoded import Unreadable
from ax_core.json_text import dumps

__all__ = ["dumps", "loads"]


def _no_constant(name: str) -> NoReturn:
    raise Unreadable(f"{name} is not JSON")


loads: Callable[[str], Any] = json.JSONDecoder(parse_constant=_no_constant).decode
