"""Discriminators: which branch of a oneOf or anyOf a tag names."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ax_core.schema.errors import SchemaError

KEYWORD = "x-ax-branches"
"""Where the gate keeps, in its own copy of a schema, what `branches` found: tag → position of the branch."""


@dataclass(frozen=True, slots=True)
class Branches:
    """A discriminated union: the tag's property, and which branch each tag stands for.

    Attributes:
        tag: name of the property that holds the tag.
        positions: tag → position in the oneOf (or anyOf).
        unreachable: positions that no tag stands for.
    """

    tag: str
    positions: dict[str, int]
    unreachable: tuple[int, ...] = ()


def union_of(schema: dict[str, Any]) -> list[Any] | None:
    """The branches that a schema's discriminator speaks of; None where there is no discriminator."""
    if "discriminator" not in schema:
        return None
    for keyword in ("oneOf", "anyOf"):
        if isinstance(schema.get(keyword), list):
            found: list[Any] = schema[keyword]
            return found
    return None


def branches(schema: dict[str, Any], targets: list[Any], path: str) -> Branches:
    """Which branch each tag names: by ``mapping``, else by its const or enum, else by the name in its $ref.

    Args:
        schema: with a discriminator and a oneOf or anyOf.
        targets: the branches with their references resolved, in order.
        path: of the schema, for the message.

    Raises:
        SchemaError: no branch can be told by its tag, two claim one tag, or ``mapping`` names a schema that
            is none of the branches.
    """
    given = schema["discriminator"]
    given = {"propertyName": given} if isinstance(given, str) else given
    tag = given.get("propertyName") if isinstance(given, dict) else None
    if not isinstance(tag, str):
        raise SchemaError(path, "its discriminator needs a propertyName")
    union = union_of(schema) or []
    references = [branch.get("$ref", "") if isinstance(branch, dict) else "" for branch in union]
    positions: dict[str, int] = {}
    mapping = given.get("mapping") if isinstance(given, dict) else None
    for name, reference in mapping.items() if isinstance(mapping, dict) else ():
        found = [
            i for i, each in enumerate(references) if each and (each == reference or _last(each) == reference)
        ]
        if not found:
            raise SchemaError(
                path, f"its discriminator maps {name!r} to {reference!r}, which is none of its branches"
            )
        positions[name] = found[0]
    for position, target in enumerate(targets):
        if position in positions.values():
            continue
        for name in _values(target, tag) or [_last(references[position])]:
            if name and positions.setdefault(name, position) != position:
                raise SchemaError(path, f"two branches of its discriminator claim the tag {name!r}")
    if not positions:
        raise SchemaError(
            path, f"no branch says which {tag!r} it stands for: give each a const, or a mapping"
        )
    missing = tuple(i for i in range(len(union)) if i not in positions.values())
    return Branches(tag, positions, missing)


def _values(target: Any, tag: str) -> list[str]:
    """The tags that a branch itself declares."""
    if not isinstance(target, dict):
        return []
    declared = (target.get("properties") or {}).get(tag)
    if isinstance(declared, dict):
        values = [declared["const"]] if "const" in declared else declared.get("enum") or []
        return [value for value in values if isinstance(value, str)]
    for part in target.get("allOf") or []:
        found = _values(part, tag)
        if found:
            return found
    return []


def _last(reference: str) -> str:
    return reference.rpartition("/")[2]
