"""How a set of tools is wrapped: one policy per tool, and what is told about those that declare nothing."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from ax_core import AX, Effect, Policy, PolicyError


@dataclass(frozen=True)
class Binding:
    """How a set of tools is wrapped.

    Attributes:
        sync_bridge: a tool that is async only may be called synchronously.
    """

    ax: AX
    policy: Policy
    on_refusal: str = "return"
    sync_bridge: bool = False

    def __hash__(self) -> int:
        # Equal policies must hash alike (MCP tools are wrapped anew for each request), and callables need not hash.
        policy = self.policy
        named = (policy.effect, policy.timeout, policy.retries, policy.version)
        return hash((id(self.ax), named, self.on_refusal, self.sync_bridge))


def policies_for(
    names: Iterable[str],
    policies: Mapping[str, Policy | Effect | str | Mapping[str, Any]] | None,
    default_effect: Effect | str | None,
    timeout: float | None,
) -> dict[str, Policy]:
    """One policy per tool.

    Raises:
        PolicyError: an invalid policy, or one for a tool that is not among ``names``.
    """
    known = list(names)
    given = dict(policies or {})
    for name in given:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            hint = (
                f"; did you mean {near[0]!r}?" if near else f" (the tools are: {', '.join(known) or 'none'})"
            )
            raise PolicyError(f"policies= names {name!r}, which is no tool of this list{hint}")
    made: dict[str, Policy] = {}
    for name in known:
        try:
            policy = Policy.of(given.get(name, {} if default_effect is None else {"effect": default_effect}))
        except PolicyError as error:
            raise PolicyError(f"the policy of tool {name!r}: {error}") from None
        if timeout is not None and policy.timeout is None:
            policy = replace(policy, timeout=timeout)
        made[name] = policy
    return made


def check_names(named: Iterable[tuple[str, object]]) -> None:
    """Refuse two tools of one name.

    Raises:
        PolicyError: there are.
    """
    seen: dict[str, object] = {}
    for name, tool in named:
        if seen.setdefault(name, tool) is not tool:
            raise PolicyError(f"two tools are named {name!r}; the model could not tell them apart either")


def tell_undeclared(ax: AX, made: Mapping[str, Policy]) -> None:
    """Say once which tools declare nothing, what that means, and how to declare them."""
    undeclared = sorted(name for name, policy in made.items() if policy.effect is Effect.UNDECLARED)
    if undeclared:
        ax.warn_once(
            f"undeclared tools: {', '.join(undeclared)}. After a timeout or a crash nobody will know whether they "
            f"acted, so a person is asked. Say what they do, e.g. policies={{{undeclared[0]!r}: 'read'}} "
            "('idempotent', 'keyed', 'transactional', 'unsafe')"
        )
