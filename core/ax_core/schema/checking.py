"""Checking a schema once, at registration: everything that could fail at a call fails here, by name."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Any

from ax_core.schema import tags
from ax_core.schema.dialect import Dialect, every_keyword
from ax_core.schema.errors import SchemaError
from ax_core.schema.patterns import compiled
from ax_core.schema.problems import listed
from ax_core.schema.shape import EVERY

_REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")
# jsonschema matches the one's names against the other's patterns itself, in unbounded time.
_NOT_TOGETHER = frozenset({"unevaluatedProperties", "patternProperties"})


@dataclass(frozen=True, slots=True)
class Place:
    """A subschema, how references in it resolve, and where it stands (a JSON pointer fragment)."""

    schema: Any
    resolver: Any
    path: str


def check_meta(schema: Any, dialect: Dialect, path: str = "#") -> None:
    """Hold a schema against its dialect's own schema.

    Raises:
        SchemaError: an unknown ``type``, a bound that is no number, and the like.
    """
    from jsonschema import FormatChecker
    from jsonschema.exceptions import SchemaError as MetaError

    try:
        # No format is checked: Python's `re` does not know every pattern that `patterns` does.
        dialect.validator.check_schema(schema, format_checker=FormatChecker(formats=()))
    except MetaError as error:
        where = "".join(f"/{step}" for step in error.absolute_path)
        why = f"{error.message[:200]}; correct it to what JSON Schema allows"
        if where.endswith("/type"):
            why = f"unknown type {str(error.instance)[:100]!r}; the types are {listed(sorted(EVERY))}"
        raise SchemaError(f"{path}{where}", why) from None
    except RecursionError:
        raise SchemaError(path, "nested too deeply") from None


def root_of(schema: Any, dialect: Dialect) -> Place:
    """The whole schema; its references resolve inside it or in the published dialects, never elsewhere."""
    from jsonschema_specifications import REGISTRY  # type: ignore[import-untyped]

    resource = dialect.specification.create_resource(schema)
    return Place(schema, REGISTRY.resolver_with_root(resource), "#")


def within(place: Place, inner: Any, step: str, dialect: Dialect) -> Place:
    """A subschema of ``place``: relative references in it start from its own ``$id``, if it has one."""
    resource = dialect.specification.create_resource(inner)
    return Place(inner, place.resolver.in_subresource(resource), f"{place.path}/{step}")


def followed(place: Place, reference: str, dialect: Dialect) -> Place:
    """The schema that a reference in ``place`` leads to. Nothing is ever fetched.

    Raises:
        SchemaError: it leads nowhere, to another document, or to what is no schema.
    """
    from referencing.exceptions import NoSuchAnchor, PointerToNowhere, Unresolvable

    shown = repr(reference[:200])
    try:
        found = place.resolver.lookup(reference)
    except (PointerToNowhere, NoSuchAnchor):
        raise SchemaError(place.path, f"its reference {shown} leads nowhere; define it under $defs") from None
    except Unresolvable:
        fix = "references are never fetched; put the schema under $defs and refer to it there"
        raise SchemaError(place.path, f"its reference {shown} is outside this schema: {fix}") from None
    except Exception as error:
        raise SchemaError(
            place.path, f"its reference {shown} cannot be read ({type(error).__name__})"
        ) from None
    if not isinstance(found.contents, dict | bool):
        raise SchemaError(place.path, f"its reference {shown} leads to something that is no schema")
    return Place(
        found.contents, found.resolver, reference if reference.startswith("#") else f"#({reference})"
    )


def check_all(root: Place, dialect: Dialect, *, guessed: bool = False) -> tuple[str, ...]:
    """Visit every subschema once: references must resolve, patterns be bounded, tags be clear.

    What the discriminators mean is written into the schemas themselves, which are the gate's own copy.

    Args:
        guessed: the dialect is not the schema's own word, so it must know every keyword that any dialect knows.

    Returns:
        Remarks: what was accepted but will not do what its author may think.

    Raises:
        SchemaError: the first thing that cannot be honoured.
    """
    remarks: list[str] = []
    keywords: set[str] = set()
    seen = {id(root.schema)}
    queue = deque([root])
    while queue:
        place = queue.popleft()
        if not isinstance(place.schema, dict):
            continue
        _check_patterns(place)
        keywords |= place.schema.keys() & _NOT_TOGETHER
        _spell_out(place.schema)
        for keyword in _REFERENCES:
            reference = place.schema.get(keyword)
            if keyword in place.schema and not isinstance(reference, str):
                raise SchemaError(f"{place.path}/{keyword}", "a reference must be text")
            if isinstance(reference, str):
                target = followed(place, reference, dialect)
                if id(target.schema) not in seen:
                    seen.add(id(target.schema))
                    check_meta(target.schema, dialect, target.path)
                    queue.append(target)
        for step, inner in _inner(place, dialect):
            if id(inner) not in seen:
                seen.add(id(inner))
                queue.append(within(place, inner, step, dialect))
        remarks += _mark_branches(place, dialect)
        remarks += _ignored(place, dialect, guessed)
    if keywords == _NOT_TOGETHER:
        raise SchemaError(
            "#", "unevaluatedProperties with patternProperties: use additionalProperties instead"
        )
    return tuple(remarks)


def _ignored(place: Place, dialect: Dialect, guessed: bool) -> list[str]:
    """Remarks on keywords that this dialect does not know."""
    found = sorted(place.schema.keys() & every_keyword() - dialect.keywords)
    if found and guessed:
        fix = "name the dialect in $schema, or write it all in one"
        raise SchemaError(place.path, f"{listed(found)}: no dialect knows this beside the rest; {fix}")
    return [f"{place.path}: {keyword} is unknown to this dialect and ignored" for keyword in found]


def _spell_out(schema: dict[str, Any]) -> None:
    """Write a property that is ``false`` in full: of the short form jsonschema does not say where it stands."""
    properties = schema.get("properties")
    for name in [name for name, inner in (properties or {}).items() if inner is False]:
        schema["properties"][name] = {"not": {}}


def _inner(place: Place, dialect: Dialect) -> list[tuple[str, Any]]:
    resource = dialect.specification.create_resource(place.schema)
    found = [each.contents for each in resource.subresources() if isinstance(each.contents, dict)]
    steps = _steps(place.schema)
    return [(steps.get(id(inner), "…"), inner) for inner in found]


def _steps(schema: dict[str, Any]) -> dict[int, str]:
    """Where the subschemas of a schema stand in it, for messages."""
    steps: dict[int, str] = {}
    for keyword, value in schema.items():
        steps[id(value)] = keyword
        inner = (
            value if isinstance(value, dict) else dict(enumerate(value)) if isinstance(value, list) else {}
        )
        for key, each in inner.items():
            steps[id(each)] = f"{keyword}/{key}"
    return steps


def _check_patterns(place: Place) -> None:
    schema = place.schema
    sources = [("pattern", schema["pattern"])] if isinstance(schema.get("pattern"), str) else []
    by_name = schema.get("patternProperties")
    if isinstance(by_name, dict):
        sources += [("patternProperties", source) for source in by_name]
    for keyword, source in sources:
        try:
            compiled(source)
        except ValueError as error:
            raise SchemaError(
                f"{place.path}/{keyword}", f"the pattern {source[:100]!r} is refused: {error}"
            ) from None


def _mark_branches(place: Place, dialect: Dialect) -> list[str]:
    schema = place.schema
    union = tags.union_of(schema)
    if union is None:
        return []
    found = tags.branches(schema, [_target(place, branch, dialect) for branch in union], place.path)
    schema[tags.KEYWORD] = {"tag": found.tag, "positions": found.positions}
    return [
        f"{place.path}: branch {position} has no tag and is never chosen" for position in found.unreachable
    ]


def _target(place: Place, branch: Any, dialect: Dialect) -> Any:
    """A branch with its references followed, however many lead on from one another."""
    here = place
    for _ in range(20):
        if not (isinstance(branch, dict) and isinstance(branch.get("$ref"), str)):
            break
        here = followed(here, branch["$ref"], dialect)
        branch = here.schema
    return branch
