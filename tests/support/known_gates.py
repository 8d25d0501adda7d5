"""Gates of tools, compiled once: hardly a test is about schemas, and most would spend much of their time on them."""

from __future__ import annotations

from functools import cached_property

from ax_core.registry.tool import Tool
from ax_core.schema import Gate


def remember() -> None:
    """From here on tools of this process whose schemas are spelled alike share a gate, which is frozen.

    What cannot be compiled is not remembered, and whoever compiles a schema without a tool has a gate of its own.
    """
    known: dict[tuple[str, str], Gate] = {}
    compiled = Tool.__dict__["gate"].func

    def gate(tool: Tool[..., object]) -> Gate:
        spelled = repr(tool.schema), repr(tool.policy.redact)
        if spelled not in known:
            known[spelled] = compiled(tool)
        return known[spelled]

    remembering = cached_property(gate)
    remembering.__set_name__(Tool, "gate")
    setattr(Tool, "gate", remembering)  # noqa: B010 - mypy would not have it otherwise
