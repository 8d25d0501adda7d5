"""A traceback as text that tells where, without telling where on which machine."""

from __future__ import annotations

import re
from types import TracebackType

from ax_core.codec.text import storable

_PARTS = re.compile(r"[/\\]+")
_WALK_AT_MOST = 5_000


def short_file(path: str) -> str:
    """The last two parts of a file's path."""
    return "/".join(_PARTS.split(path)[-2:])


def traceback_text(tb: TracebackType | None, frames: int) -> str:
    """One `file:line in function` per frame, most recent last; of more than `frames` the middle is left out.

    Holds no source lines, no local variables and no directories beyond the last two parts.
    """
    lines: list[str] = []
    while tb is not None and len(lines) < _WALK_AT_MOST:
        code = tb.tb_frame.f_code
        lines.append(storable(f"{short_file(code.co_filename)}:{tb.tb_lineno} in {code.co_qualname}", 200))
        tb = tb.tb_next
    if len(lines) > frames:
        first = frames // 4
        last = frames - first
        left_out = f"… {len(lines) - frames} frames left out"
        lines = [*lines[:first], left_out, *(lines[-last:] if last else [])]
    return "\n".join(lines)
