"""The shape of arguments: what a schema says of types, names and defaults, laid out for quick walking."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from ax_core.schema.bounds import Bound

EVERY = frozenset({"null", "boolean", "integer", "number", "string", "array", "object"})


@dataclass(slots=True)
class Members:
    """What a schema says of an object's members. Filled after it is made: schemas refer to themselves.

    Attributes:
        properties: shape by name.
        rest: shape of members that are not named; None where nothing is said of them.
        required: names that must be there.
        closed: whether other members are refused.
        defaults: name → value to fill in where it is missing; never null, never of a required member.
    """

    properties: dict[str, Shape] = field(default_factory=dict)
    rest: Shape | None = None
    required: frozenset[str] = frozenset()
    closed: bool = False
    defaults: dict[str, Any] = field(default_factory=dict)


@dataclass(slots=True)
class Elements:
    """What a schema says of an array's items; filled like `Members`."""

    first: list[Shape] = field(default_factory=list)
    rest: Shape | None = None


@dataclass(frozen=True, slots=True)
class Tagged:
    """The branches of a union with a discriminator, by tag."""

    tag: str
    branches: dict[str, Shape]


@dataclass(frozen=True, slots=True)
class Shape:
    """What may stand in one place.

    Attributes:
        accepts: JSON types that can be valid here.
        reads: types declared by name, as which a value of another type may be read.
        decides: whether types, names and choices are all that the schema says here; else jsonschema is asked.
        choices: the texts that a text must be one of; None where it may be any.
        bounds: limits of size and range.
        members: for objects, every part of the schema that speaks of members.
        elements: for arrays, likewise.
        tagged: the branch is chosen by a tag.
    """

    accepts: frozenset[str] = EVERY
    reads: frozenset[str] = frozenset()
    decides: bool = True
    choices: frozenset[str] | None = None
    bounds: tuple[Bound, ...] = ()
    members: tuple[Members, ...] = ()
    elements: tuple[Elements, ...] = ()
    tagged: Tagged | None = None

    def member(self, name: str) -> Shape | None:
        """The shape of a member: the first part that names it, else what is said of the rest."""
        for part in self.members:
            if name in part.properties:
                return part.properties[name]
        for part in self.members:
            if part.rest is not None:
                return part.rest
        return None

    def chosen(self, value: dict[str, Any]) -> Shape:
        """This shape, joined by the branch that the object's tag names."""
        if self.tagged is None:
            return self
        tag = value.get(self.tagged.tag)
        branch = self.tagged.branches.get(tag) if isinstance(tag, str) else None
        if branch is None:
            return self
        branch = branch.chosen(value)
        return replace(self, members=self.members + branch.members, tagged=None)


ANYTHING = Shape()
NOTHING = Shape(accepts=frozenset(), decides=False)
