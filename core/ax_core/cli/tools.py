"""``axd tools``: what is known of the tools, and how long they take."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .clean import plain
from .options import HERE, Where
from .out import answer, clock, iso, table, text
from .place import opened

if TYPE_CHECKING:
    from rich.console import Console

    from ..app.lookup import SeenTool


def tools(*, where: Where = HERE) -> int:
    """List the tools that were ever registered on this record: effect, policy, how long they take."""
    with opened(where) as ax:
        found = ax.seen_tools()
    answer(where.as_json, {"tools": [_data(tool) for tool in found]}, lambda on: _show(on, found))
    return 0


def suggested(tool: SeenTool) -> float | None:
    """A timeout that its successes would have kept: half as long again as 95 of 100 took, at least 1 s."""
    p95 = tool.seconds.get("p95")
    return None if p95 is None else max(1.0, float(f"{p95 * 1.5:.2g}"))


def _data(tool: SeenTool) -> dict[str, Any]:
    return {
        "name": tool.name,
        "version": tool.version,
        "effect": tool.policy.get("effect"),
        "paused": tool.paused,
        "paused_by": tool.paused_by,
        "policy": plain(tool.policy),
        "schema": plain(tool.schema),
        "seconds": tool.seconds,
        "suggested_timeout": suggested(tool),
        "seen_at": iso(tool.seen_at),
    }


def _show(on: Console, found: list[SeenTool]) -> None:
    if not found:
        on.print("no tool was registered on this record yet")
        return
    made = table(
        "tool",
        "effect",
        "timeout",
        "retries",
        "confirm",
        "dedupe",
        "p50 / p95 / p99",
        "suggested",
        "last seen",
    )
    for tool in found:
        policy = tool.policy
        name = text(tool.name, "bold")
        if tool.paused:
            name.append_text(text(f"  paused by {tool.paused_by}", "bold yellow"))
        undeclared = policy.get("effect") == "undeclared"
        made.add_row(
            name,
            text(policy.get("effect", "?"), "yellow" if undeclared else ""),
            "none" if policy.get("timeout") is None else f"{policy['timeout']:g} s",
            text(policy.get("retries", "")),
            text(_confirm(policy.get("confirm"))),
            text(_dedupe(policy)),
            " / ".join(_seconds(at) for at in tool.seconds.values()),
            "" if (limit := suggested(tool)) is None else f"{limit:g} s",
            clock(tool.seen_at),
        )
    on.print(made)
    if any(tool.policy.get("effect") == "undeclared" for tool in found):
        on.print(
            text(
                "undeclared tools are taken for UNSAFE: say what they do with effect=, and more can be repeated",
                "dim",
            )
        )


def _dedupe(policy: dict[str, Any]) -> str:
    key = policy.get("key")
    by = f" by {', '.join(map(str, key))}" if isinstance(key, list) else ""
    return f"{policy.get('dedupe') or 'default'}{by}"


def _confirm(policy: Any) -> str:
    return "yes" if policy is True else f"by {policy}" if policy else ""


def _seconds(value: float) -> str:
    return f"{value * 1000:.0f} ms" if value < 1 else f"{value:.1f} s"
