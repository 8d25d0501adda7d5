"""The argument names that a tool's schema makes visible, and whether it takes others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ax_core.schema.checking import Place, followed, within
from ax_core.schema.dialect import Dialect

_IN_PLACE = ("allOf", "anyOf", "oneOf")
_CONDITIONAL = ("if", "then", "else")


@dataclass(frozen=True, slots=True)
class Visible:
    """What a schema says of the names of arguments.

    Attributes:
        schemas: name → the schema of that argument, as first found.
        required: names that every call must give.
        patterns: regular expressions of further names.
        open: whether any other name is explicitly allowed.
    """

    schemas: dict[str, Any]
    required: frozenset[str]
    patterns: tuple[str, ...]
    open: bool

    def accepts(self) -> tuple[str, ...]:
        """The arguments for a model: ``path (string, required)``; the required ones first."""
        names = sorted(self.schemas, key=lambda name: name not in self.required)
        others = ("others",) if self.open or self.patterns else ()
        return (*(f"{name} ({self._hint(name)})" for name in names), *others)

    def _hint(self, name: str) -> str:
        schema = self.schemas[name]
        declared = schema.get("type", "") if isinstance(schema, dict) else ""
        kind = declared if isinstance(declared, str) else " or ".join(declared)
        words = [kind, "required" if name in self.required else "optional"]
        return ", ".join(word for word in words if word)


def visible(root: Place, dialect: Dialect) -> Visible:
    """Collect the names from the schema and everything that applies to the same object."""
    schemas: dict[str, Any] = {}
    patterns: list[str] = []
    opened = root.schema is True
    seen: set[int] = set()
    queue = [root]
    while queue:
        here = queue.pop(0)
        schema = here.schema
        if not isinstance(schema, dict) or id(schema) in seen:
            continue
        seen.add(id(schema))
        for name, inner in (schema.get("properties") or {}).items():
            schemas.setdefault(name, inner)
        patterns += schema.get("patternProperties") or ()
        for keyword in ("additionalProperties", "unevaluatedProperties"):
            opened = opened or schema.get(keyword, False) is not False
        if isinstance(schema.get("$ref"), str):
            queue.append(followed(here, schema["$ref"], dialect))
        inner_schemas = [each for keyword in _IN_PLACE for each in schema.get(keyword) or ()]
        inner_schemas += [schema[keyword] for keyword in _CONDITIONAL if keyword in schema]
        inner_schemas += (schema.get("dependentSchemas") or {}).values()
        queue += [within(here, inner, "…", dialect) for inner in inner_schemas if isinstance(inner, dict)]
    required = root.schema.get("required") if isinstance(root.schema, dict) else None
    return Visible(schemas, frozenset(required or ()), tuple(patterns), opened)
