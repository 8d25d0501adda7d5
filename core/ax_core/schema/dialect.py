"""The JSON Schema dialects, with the keywords that the gate answers itself.

jsonschema stays the validator. Replaced is what would make it slow or wrong here: regular expressions
(bounded in time), ``uniqueItems`` (linear, not quadratic) and unions with a discriminator.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

# They read files as they are imported: here, where that blocks nobody, not when a tool is registered on a loop.
import jsonschema.validators
from jsonschema.exceptions import ValidationError
from referencing.jsonschema import specification_with

from ax_core.keys import canonical
from ax_core.schema import tags
from ax_core.schema.errors import SchemaError
from ax_core.schema.patterns import compiled

DEFAULT = "https://json-schema.org/draft/2020-12/schema"
OLDER = ("http://json-schema.org/draft-07/schema#", "http://json-schema.org/draft-04/schema#")
_LATEST = ("http://json-schema.org/schema", "https://json-schema.org/schema")


@dataclass(frozen=True, slots=True)
class Dialect:
    """One version of JSON Schema.

    Attributes:
        validator: the jsonschema validator class, extended.
        specification: what `referencing` knows of it: subschemas, ids, anchors.
        keywords: those that refuse something.
        ref_alone: whether what stands beside a ``$ref`` is ignored (draft 7 and before).
    """

    validator: Any
    specification: Any
    keywords: frozenset[str]
    ref_alone: bool


@lru_cache(maxsize=16)
def dialect(uri: str) -> Dialect:
    """The dialect that ``$schema`` names; draft 4 and later.

    Raises:
        SchemaError: an unknown one.
    """
    name = DEFAULT if uri.rstrip("#") in _LATEST else uri
    validators: Any = jsonschema.validators
    base = validators.validator_for({"$schema": name}, default=None)
    if base is None or "draft-03" in name:
        raise SchemaError("#/$schema", f"the dialect {uri[:100]!r} is unknown; leave $schema out for 2020-12")
    keywords = {
        name: make(base.VALIDATORS.get(name)) for name, make in _KEYWORDS.items() if name in base.VALIDATORS
    }
    extended = validators.extend(base, keywords)
    old = any(f"draft-0{number}" in name for number in (4, 6, 7))
    # In draft 4 they are flags of minimum and maximum.
    known = frozenset(extended.VALIDATORS) | {"exclusiveMinimum", "exclusiveMaximum"}
    return Dialect(extended, specification_with(name), known, old)


@lru_cache(maxsize=1)
def every_keyword() -> frozenset[str]:
    """The keywords that refuse something in any dialect."""
    return frozenset().union(*(dialect(uri).keywords for uri in (DEFAULT, *OLDER)))


def extra_names(instance: dict[str, Any], schema: dict[str, Any]) -> list[str]:
    """Members of an object that neither ``properties`` nor ``patternProperties`` of this schema speaks of."""
    known = schema.get("properties") or {}
    patterns = [compiled(source).search for source in schema.get("patternProperties") or ()]
    return [name for name in instance if name not in known and not any(search(name) for search in patterns)]


def _union(default: Any) -> Any:
    def check(validator: Any, union: Any, instance: Any, schema: Any) -> Iterator[Any]:
        found = schema.get(tags.KEYWORD)
        if found is None or id(tags.union_of(schema)) != id(union) or not isinstance(instance, dict):
            yield from default(validator, union, instance, schema)
            return
        tag = instance.get(found["tag"])
        position = found["positions"].get(tag) if isinstance(tag, str) else None
        if position is None:
            known = list(found["positions"])
            yield ValidationError(
                "no branch", validator="discriminator", validator_value=(found["tag"], known)
            )
        else:
            yield from validator.descend(instance, union[position], schema_path=position)

    return check


def _pattern(default: Any) -> Any:
    def check(validator: Any, source: str, instance: Any, schema: Any) -> Iterator[Any]:
        if isinstance(instance, str) and not compiled(source).search(instance):
            yield ValidationError("no match")

    return check


def _pattern_properties(default: Any) -> Any:
    def check(validator: Any, patterns: Any, instance: Any, schema: Any) -> Iterator[Any]:
        if not isinstance(instance, dict):
            return
        for source, inner in patterns.items():
            search = compiled(source).search
            for name, value in instance.items():
                if search(name):
                    yield from validator.descend(value, inner, path=name, schema_path=source)

    return check


def _additional_properties(default: Any) -> Any:
    def check(validator: Any, additional: Any, instance: Any, schema: Any) -> Iterator[Any]:
        if not isinstance(instance, dict):
            return
        extra = extra_names(instance, schema)
        if isinstance(additional, dict):
            for name in extra:
                yield from validator.descend(instance[name], additional, path=name)
        elif extra and not additional:
            yield ValidationError("unexpected")

    return check


def _unique_items(default: Any) -> Any:
    def check(validator: Any, wanted: Any, instance: Any, schema: Any) -> Iterator[Any]:
        if (
            wanted
            and isinstance(instance, list)
            and len({canonical(each) for each in instance}) < len(instance)
        ):
            yield ValidationError("repeated")

    return check


_KEYWORDS = {
    "oneOf": _union,
    "anyOf": _union,
    "pattern": _pattern,
    "patternProperties": _pattern_properties,
    "additionalProperties": _additional_properties,
    "uniqueItems": _unique_items,
}
