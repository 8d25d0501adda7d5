"""The registry: duplicate and unknown names are errors."""

from __future__ import annotations

import difflib
import threading
from collections.abc import Iterator
from typing import Any

from ..errors import PolicyError, UnknownTool
from .tool import Tool, spec_hash


class Registry:
    """Tools by name, for one namespace or several that share them."""

    def __init__(self) -> None:
        self._tools: dict[str, Tool[..., Any]] = {}
        self._aliases: dict[str, str] = {}
        self._lock = threading.Lock()

    def add(self, tool: Tool[..., Any]) -> Tool[..., Any]:
        """Register a tool. The same name, schema and policy again replaces only the function.

        Raises:
            PolicyError: the name stands for another schema or policy.
        """
        with self._lock:
            known = self._tools.get(tool.name)
            if known is not None and spec_hash(known.schema, known.policy) != spec_hash(
                tool.schema, tool.policy
            ):
                what = "policy" if known.schema == tool.schema else "schema"
                raise PolicyError(
                    f"a tool named {tool.name!r} is registered with another {what}; give this one another name, "
                    "or make both say the same"
                )
            for alias in tool.aliases:
                if alias in self._tools or self._aliases.get(alias, tool.name) != tool.name:
                    raise PolicyError(f"the alias {alias!r} of {tool.name!r} is taken by another tool")
            self._tools[tool.name] = tool
            self._aliases.update(dict.fromkeys(tool.aliases, tool.name))
        return tool

    def find(self, name: str) -> Tool[..., Any] | None:
        """The tool of that name or alias, or None."""
        return self._tools.get(name) or self._tools.get(self._aliases.get(name, ""))

    def get(self, name: str) -> Tool[..., Any]:
        """The tool of that name or alias.

        Raises:
            UnknownTool: there is none; the message names near ones.
        """
        found = self.find(name)
        if found is None:
            near = difflib.get_close_matches(name, self._tools, n=3)
            hint = f"; did you mean {' or '.join(map(repr, near))}?" if near else ""
            known = ", ".join(sorted(self._tools)) or "none"
            raise UnknownTool(
                f"no tool named {name!r} is registered{hint} (known: {known})",
                for_model=f"There is no tool named {name!r}{hint}. Nothing was done. The tools are: {known}.",
            )
        return found

    def __iter__(self) -> Iterator[Tool[..., Any]]:
        return iter(list(self._tools.values()))

    def __len__(self) -> int:
        return len(self._tools)
