"""Limits of size and range that a schema sets, in a form that is quick to ask."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

_NUMBERS = frozenset({"integer", "number"})
_TEXT = frozenset({"string"})
_ARRAY = frozenset({"array"})


@dataclass(frozen=True, slots=True)
class Bound:
    """One limit: which JSON types it speaks of, and whether a value of those keeps it."""

    kinds: frozenset[str]
    holds: Callable[[Any], bool]


BOUNDS: dict[str, tuple[frozenset[str], Callable[[Any], Callable[[Any], bool]]]] = {
    "minimum": (_NUMBERS, lambda limit: lambda value: bool(value >= limit)),
    "maximum": (_NUMBERS, lambda limit: lambda value: bool(value <= limit)),
    "exclusiveMinimum": (_NUMBERS, lambda limit: lambda value: bool(value > limit)),
    "exclusiveMaximum": (_NUMBERS, lambda limit: lambda value: bool(value < limit)),
    "minLength": (_TEXT, lambda limit: lambda value: len(value) >= limit),
    "maxLength": (_TEXT, lambda limit: lambda value: len(value) <= limit),
    "minItems": (_ARRAY, lambda limit: lambda value: len(value) >= limit),
    "maxItems": (_ARRAY, lambda limit: lambda value: len(value) <= limit),
}
"""Keyword → the types it speaks of, and what makes its test. jsonschema words the failure."""


def bounds_of(schema: dict[str, Any]) -> tuple[Bound, ...]:
    """The limits that a schema itself sets."""
    found = []
    for keyword, (kinds, make) in BOUNDS.items():
        limit = schema.get(keyword)
        if limit is True:  # draft 4: the other bound excludes itself
            found.append(Bound(kinds, lambda value: False))
        elif limit is not None and limit is not False:
            found.append(Bound(kinds, make(limit)))
    return tuple(found)
