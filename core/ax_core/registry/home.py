"""Where a tool was made: the module whose code registered it."""

from __future__ import annotations

import sys

_OURS = ("ax_core", "ax_adapters")


def home() -> str | None:
    """The name of the innermost module on the stack that is not AX's own."""
    frame = sys._getframe(1)
    while frame is not None:
        name = frame.f_globals.get("__name__", "")
        if name.partition(".")[0] not in _OURS:
            return str(name)
        frame = frame.f_back  # type: ignore[assignment]
    return None
