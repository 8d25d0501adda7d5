"""What an MCP server says of its tools, as policy; and the idempotency key on its way to the server."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from ax_core import Effect, Policy, PolicyError, current

MCP_HINTS = ("tighten", "trust", "confirm")
KEY = "ax/idempotency_key"
"""The name in ``_meta`` under which a server finds the idempotency key of the call."""

_SNAKE = {
    "read_only_hint": "readOnlyHint",
    "destructive_hint": "destructiveHint",
    "idempotent_hint": "idempotentHint",
}
_carriers: list[Callable[[], bool]] = []


def check_mcp_hints(value: str) -> str:
    """Refuse a misspelt ``mcp_hints``."""
    if value not in MCP_HINTS:
        raise PolicyError(f"mcp_hints={value!r} is unknown; one of {', '.join(map(repr, MCP_HINTS))}")
    return value


def hints_in(said: Mapping[str, Any]) -> dict[str, Any]:
    """Annotations by their names in the protocol, however a client spells them."""
    return {_SNAKE.get(name, name): value for name, value in said.items()}


def hinted(policy: Policy, hints: Mapping[str, Any], mode: str) -> Policy:
    """A policy that nobody gave for this very tool, with what its server says of it.

    Only explicit hints count. They come from the server, so by default they may only tighten.

    Args:
        mode: ``"tighten"``; ``"trust"``: readOnlyHint and idempotentHint may relax; ``"confirm"``: destructiveHint asks
            a person.
    """
    reads, destroys, repeats = (
        hints.get(f"{name}Hint") for name in ("readOnly", "destructive", "idempotent")
    )
    if mode == "trust" and reads is True:
        return replace(policy, effect=Effect.READ)
    if mode == "trust" and repeats is True:
        return replace(policy, effect=Effect.IDEMPOTENT)
    if destroys is True and reads is not True:
        return replace(policy, effect=Effect.UNSAFE, confirm=policy.confirm or mode == "confirm")
    denied = policy.effect is Effect.READ and reads is False
    if denied or (policy.effect is Effect.IDEMPOTENT and repeats is False):
        return replace(policy, effect=Effect.UNDECLARED)
    return policy


def carry_key(inside: Callable[[], bool]) -> None:
    """Let a call of an MCP client carry the key of the task it is made for, where ``inside()`` says that it is one."""
    if inside in _carriers:
        return
    _carriers.append(inside)
    try:
        session: Any = importlib.import_module("mcp.client.session").ClientSession
    except ImportError:
        return
    plain = session.call_tool
    if hasattr(plain, "__ax_plain__"):
        return

    @functools.wraps(plain)
    async def call_tool(self: Any, *args: Any, **kw: Any) -> Any:
        key = current().idempotency_key
        if key is not None and any(inside() for inside in _carriers):
            kw["meta"] = {KEY: key, **(kw.get("meta") or {})}
        return await plain(self, *args, **kw)

    call_tool.__ax_plain__ = plain  # type: ignore[attr-defined]
    # The clients' own tools give no way to add to a request, so this stands in the session's class: it adds to the
    # calls of wrapped MCP tools while they run, and passes every other call on as it is.
    session.call_tool = call_tool
