"""From a schema to its `Shape`."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from ax_core.schema import tags
from ax_core.schema.bounds import BOUNDS, bounds_of
from ax_core.schema.checking import Place, followed, within
from ax_core.schema.dialect import Dialect, every_keyword
from ax_core.schema.errors import SchemaError
from ax_core.schema.problems import JSON_TYPES
from ax_core.schema.shape import ANYTHING, EVERY, NOTHING, Elements, Members, Shape, Tagged

ANNOTATIONS = frozenset(
    (
        "title",
        "description",
        "default",
        "examples",
        "deprecated",
        "readOnly",
        "writeOnly",
        "format",
        "$comment",
    )
) | {"contentEncoding", "contentMediaType", "$schema", "$id", "$defs", "definitions"}
"""Keywords that refuse nothing. ``format`` is one of them: it is not asserted."""

_TYPES = frozenset({"type", "properties", "required", "additionalProperties", "items", "enum", "const"})
_DECIDED = ANNOTATIONS | _TYPES | BOUNDS.keys()
_UNIONS = ("anyOf", "oneOf")


@dataclass(slots=True)
class _Shaping:
    """One schema being laid out: shapes by the identity of their subschema, and parts still to fill.

    A ``$dynamicRef`` is left to jsonschema: where it leads depends on the way there.
    """

    dialect: Dialect
    fits: Callable[[Place, Any], bool]
    ignored: frozenset[str]
    made: dict[int, Shape] = field(default_factory=dict)
    open: set[int] = field(default_factory=set)
    todo: deque[Callable[[], None]] = field(default_factory=deque)

    def shape(self, place: Place) -> Shape:
        schema = place.schema
        if not isinstance(schema, dict):
            return ANYTHING if schema else NOTHING
        key = id(schema)
        if key not in self.made:
            if key in self.open:
                raise SchemaError(place.path, "it refers only to itself; give it a type")
            self.open.add(key)
            known = {name: each for name, each in schema.items() if name not in self.ignored}
            self.made[key] = self.fresh(place, known)
            self.open.discard(key)
        return self.made[key]

    def inner(self, place: Place, schema: Any, step: str) -> Place:
        return within(place, schema, step, self.dialect)

    def fresh(self, place: Place, schema: dict[str, Any]) -> Shape:
        parts: list[Shape] = []
        reference = schema.get("$ref")
        if isinstance(reference, str):
            target = self.shape(followed(place, reference, self.dialect))
            if self.dialect.ref_alone or schema.keys() <= ANNOTATIONS | {"$ref"}:
                return target
            parts.append(target)
        parts += [self.shape(self.inner(place, each, "allOf")) for each in schema.get("allOf") or ()]
        unions = [self.union(place, schema, keyword) for keyword in _UNIONS if keyword in schema]
        own = self.own(place, schema)
        known = schema.keys() <= _DECIDED | ({"anyOf"} if len(unions) == 1 else set())
        return _joined(own, parts, unions, decides=known and not parts)

    def own(self, place: Place, schema: dict[str, Any]) -> Shape:
        """What the schema itself says, without its references and unions."""
        declared = schema.get("type", ())
        declared = frozenset([declared] if isinstance(declared, str) else declared)
        accepts = declared | ({"integer"} if "number" in declared else set()) if declared else EVERY
        values = [schema["const"]] if "const" in schema else schema.get("enum")
        decides, choices = True, None
        if values is not None:
            accepts &= {JSON_TYPES[type(value)] for value in values}
            decides = (
                all(isinstance(value, str) for value in values) and not {"const", "enum"} <= schema.keys()
            )
            choices = frozenset(value for value in values if isinstance(value, str))
        members: tuple[Members, ...] = ()
        if schema.keys() & {"properties", "required", "additionalProperties"}:
            members = (Members(required=frozenset(schema.get("required") or ())),)
            members[0].closed = schema.get("additionalProperties") is False
            self.todo.append(lambda: self.fill_members(place, schema, members[0]))
        elements: tuple[Elements, ...] = ()
        if schema.keys() & {"items", "prefixItems"}:
            elements = (Elements(),)
            self.todo.append(lambda: self.fill_elements(place, schema, elements[0]))
            decides = decides and not isinstance(schema.get("items"), list)
        return Shape(accepts, declared, decides, choices, bounds_of(schema), members, elements)

    def union(self, place: Place, schema: dict[str, Any], keyword: str) -> Shape:
        """What the alternatives accept, and the details of the only one that takes objects, or arrays."""
        alternatives = [
            self.shape(self.inner(place, each, f"{keyword}/{n}")) for n, each in enumerate(schema[keyword])
        ]
        accepts = frozenset[str]().union(*(each.accepts for each in alternatives))
        reads = frozenset[str]().union(*(each.reads for each in alternatives))
        marked = schema.get(tags.KEYWORD)
        if marked and tags.union_of(schema) is schema[keyword]:
            branches = {tag: alternatives[position] for tag, position in marked["positions"].items()}
            return Shape(accepts, reads, decides=False, tagged=Tagged(marked["tag"], branches))
        objects = [each for each in alternatives if "object" in each.accepts]
        arrays = [each for each in alternatives if "array" in each.accepts]
        texts = [each.choices for each in alternatives if "string" in each.accepts]
        limited = [each for each in texts if each is not None]
        return Shape(
            accepts,
            reads,
            decides=len(objects) < 2 and len(arrays) < 2 and _separate(alternatives),
            choices=frozenset[str]().union(*limited) if limited and len(limited) == len(texts) else None,
            bounds=_flat(each.bounds for each in alternatives),
            members=objects[0].members if len(objects) == 1 else (),
            elements=arrays[0].elements if len(arrays) == 1 else (),
            tagged=objects[0].tagged if len(objects) == 1 else None,
        )

    def fill_members(self, place: Place, schema: dict[str, Any], members: Members) -> None:
        for name, inner in (schema.get("properties") or {}).items():
            here = self.inner(place, inner, f"properties/{name}")
            members.properties[name] = self.shape(here)
            default = inner.get("default") if isinstance(inner, dict) else None
            if default is not None and name not in members.required and self.fits(here, default):
                members.defaults[name] = default
        additional = schema.get("additionalProperties")
        if isinstance(additional, dict) and "patternProperties" not in schema:
            members.rest = self.shape(self.inner(place, additional, "additionalProperties"))

    def fill_elements(self, place: Place, schema: dict[str, Any], elements: Elements) -> None:
        items = schema.get("items")
        first = items if isinstance(items, list) else schema.get("prefixItems") or []
        elements.first += [self.shape(self.inner(place, each, f"items/{n}")) for n, each in enumerate(first)]
        if isinstance(items, dict | bool):
            elements.rest = self.shape(self.inner(place, items, "items"))


def _joined(own: Shape, parts: list[Shape], unions: list[Shape], *, decides: bool) -> Shape:
    """One shape of everything that holds in the same place."""
    every = [own, *parts, *unions]
    accepts = EVERY.intersection(*(each.accepts for each in every))
    reads = own.reads or frozenset[str]().union(*(each.reads for each in every))
    choices = [each.choices for each in every if each.choices is not None]
    return Shape(
        accepts,
        reads & accepts,
        decides=decides and all(each.decides for each in every),
        choices=choices[0].intersection(*choices) if choices else None,
        bounds=_flat(each.bounds for each in every),
        members=_flat(each.members for each in every),
        elements=_flat(each.elements for each in every),
        tagged=next((each.tagged for each in every if each.tagged), None),
    )


def _separate(alternatives: list[Shape]) -> bool:
    """Whether alternatives decide for themselves, and what one of them bounds is open to no other."""
    for shape in alternatives:
        for bound in shape.bounds:
            if any(bound.kinds & each.accepts for each in alternatives if each is not shape):
                return False
    return all(each.decides for each in alternatives)


def _flat(parts: Iterable[tuple[Any, ...]]) -> tuple[Any, ...]:
    return tuple(each for part in parts for each in part)


def shape_of(root: Place, dialect: Dialect, fits: Callable[[Place, Any], bool]) -> Shape:
    """The shape of a checked schema.

    Args:
        fits: whether a declared default is valid where it stands; one that is not is never filled in.

    Raises:
        SchemaError: a reference that leads only to itself.
    """
    shaping = _Shaping(dialect, fits, every_keyword() - dialect.keywords)
    made = shaping.shape(root)
    while shaping.todo:
        shaping.todo.popleft()()
    return made
