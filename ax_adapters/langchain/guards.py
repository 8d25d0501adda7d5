"""The policies of an agent's tools, and each tool under its own: also those that come later."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from langchain_core.tools import BaseTool

from ax_core import AX, Effect, Policy

from ..bridge import Binding, check_mcp_hints, check_on_refusal, policies_for, tell_undeclared
from .wrap import AnyPolicy, by_hints, put_under, wrappable, wrapped


class Guards:
    """Puts the tools of one agent under AX, as they are called.

    Args:
        policies, default_effect, timeout, on_refusal, sync_bridge, mcp_hints: as in :class:`AXMiddleware`.

    Raises:
        PolicyError: an invalid policy or option.
    """

    def __init__(
        self,
        ax: AX,
        policies: Mapping[str, AnyPolicy] | None,
        default_effect: Effect | str | None,
        timeout: float | None,
        on_refusal: str,
        sync_bridge: bool,
        mcp_hints: str,
    ) -> None:
        self._ax, self.on_refusal, self._sync_bridge = ax, check_on_refusal(on_refusal), sync_bridge
        self._mcp_hints = check_mcp_hints(mcp_hints)
        self._default = (default_effect, timeout)
        self._policies = policies_for(policies or (), policies, default_effect, timeout)
        self._made: dict[tuple[str, str], Binding] = {}
        Policy.of({} if default_effect is None else {"effect": default_effect}, timeout=timeout)

    def over(self, tool: BaseTool) -> BaseTool:
        """A tool under AX; one that is wrapped stays as it is."""
        return self._over(tool, self.on_refusal)

    def over_in_a_run(self, tool: BaseTool) -> BaseTool:
        """:meth:`over`, in a run of the middleware's: its next step of the model ends the agent, so that no refusal for
        lack of budget need be raised."""
        return self._over(tool, "end" if self.on_refusal == "return" else self.on_refusal)

    def tell_unused(self, tools: Iterable[Any]) -> None:
        """Warn, once, of policies for tools that the agent does not have so far."""
        names = {tool.get("name") if isinstance(tool, dict) else tool.name for tool in tools}
        if unused := sorted(set(self._policies) - names):
            self._ax.warn_once(
                f"policies= names {', '.join(unused)}, which no tool of this agent is called so far "
                f"(they are: {', '.join(sorted(map(str, names))) or 'none'})"
            )

    def _over(self, tool: BaseTool, on_refusal: str) -> BaseTool:
        if wrapped(tool):
            return tool
        binding = self._made.get((tool.name, on_refusal))
        if binding is None:
            wrappable(tool)
            policy = self._policies.get(tool.name)
            if policy is None:
                policy = policies_for([tool.name], None, *self._default)[tool.name]
                policy = by_hints(tool, policy, self._mcp_hints)
                tell_undeclared(self._ax, {tool.name: policy})
            binding = self._made[tool.name, on_refusal] = Binding(
                self._ax, policy, on_refusal, self._sync_bridge
            )
        return put_under(tool, binding)
