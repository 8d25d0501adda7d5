"""From jsonschema's errors to problems in words for a model: never an instance's ``repr``, never a stack."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any

from ax_core.schema.dialect import extra_names
from ax_core.schema.intake import Path
from ax_core.schema.names import nearest
from ax_core.schema.patterns import compiled
from ax_core.schema.problems import Problem, listed, place, quoted, shortened
from ax_core.schema.settle import Log, mismatch

MOST = 50
"""Errors looked at; a huge array of wrong items is not spelt out."""


def explained(errors: Iterable[Any], log: Log) -> Iterator[Problem]:
    """The problems behind jsonschema's errors, each once; none for values that settling reported already."""
    seen: set[tuple[Any, ...]] = set()
    for error in islice(errors, MOST):
        cause = _deepest(error)
        path = tuple(cause.absolute_path)
        if any(path[: len(known)] == known for known in log.problems):
            continue
        for problem in _problems(cause, path, log):
            if (problem.path, problem.kind, problem.message) not in seen:
                seen.add((problem.path, problem.kind, problem.message))
                yield problem


def unexpected(name: str, path: Path, known: Iterable[str], given: Iterable[str]) -> Problem:
    """An argument that the schema does not have, with the one that was probably meant."""
    names = list(known)
    taken = set(given)
    near = nearest(name, [each for each in names if each not in taken]) or nearest(name, names)
    where = f" in {place(path)}" if path else ""
    hint = f"; did you mean {quoted(near)}?" if near else ""
    message = f"unexpected argument {quoted(name)}{where}{hint}"
    return Problem(
        place((*path, name)), "unexpected", message, f"one of {listed(names)}" if names else "", "", near
    )


def missing(name: str, path: Path, schema: Any) -> Problem:
    """A required argument that was not given."""
    declared = schema.get("type") if isinstance(schema, dict) else None
    expected = " or ".join(declared) if isinstance(declared, list) else str(declared or "")
    where = f" in {place(path)}" if path else ""
    kind = f" ({expected})" if expected else ""
    return Problem(place((*path, name)), "missing", f"missing argument {quoted(name)}{where}{kind}", expected)


def _deepest(error: Any) -> Any:
    """Of a union's errors, the first of the alternative that was most probably meant.

    That is the one whose tags and types fit, and of these the one with the fewest errors.
    """
    while error.context:
        alternatives: dict[Any, list[Any]] = {}
        for each in error.context:
            alternatives.setdefault(each.schema_path[0], []).append(each)
        error = min(alternatives.values(), key=_distance)[0]
    return error


def _distance(errors: list[Any]) -> tuple[int, int]:
    telling = [
        each for each in errors if each.validator in _TAGS or (each.validator == "type" and not each.path)
    ]
    return len(telling), len(errors)


def _problems(error: Any, path: Path, log: Log) -> Iterator[Problem]:
    keyword, wanted, value, schema = error.validator, error.validator_value, error.instance, error.schema
    if keyword == "required" and isinstance(value, dict):
        properties = schema.get("properties") or {}
        yield from (missing(name, path, properties.get(name)) for name in wanted if name not in value)
    elif keyword in ("additionalProperties", "unevaluatedProperties") and wanted is False:
        known = list(schema.get("properties") or {})
        for name in extra_names(value, schema)[:10]:
            yield unexpected(name, path, known, value)
    elif keyword == "type":
        types = frozenset([wanted] if isinstance(wanted, str) else wanted)
        yield mismatch(path, types, log.quote(value, path))
    elif keyword == "discriminator":
        tag, known = wanted
        if tag in value:
            expected = _one_of(known)
            yield _value((*path, tag), expected, log.quote(value[tag], (*path, tag)))
        else:
            yield missing(tag, path, {"type": _one_of(known)})
    else:
        describe = _EXPECTED.get(keyword or "")
        expected = (
            describe(wanted)
            if describe
            else f"what the schema's {keyword!r} asks for"
            if keyword
            else "nothing"
        )
        yield _value(path, expected, log.quote(value, path))


def _value(path: Path, expected: str, given: str) -> Problem:
    where = place(path)
    message = f"{where or 'the arguments'}: expected {expected}, got {given}"
    return Problem(where, "value", message, expected=expected, given=given)


def _one_of(values: Iterable[Any]) -> str:
    return f"one of {listed(json.dumps(value, ensure_ascii=False) for value in values)}"


def _matching(source: str) -> str:
    longest = compiled(source).longest
    limit = f" of at most {longest} characters" if longest is not None else ""
    return f"text{limit} that matches {shortened(source, 100)}"


def _count(noun: str, word: str) -> Callable[[Any], str]:
    return lambda wanted: f"{word} {wanted} {noun}{'' if wanted == 1 else 's'}"


_TAGS = ("const", "enum", "discriminator")
_EXPECTED: dict[str, Callable[[Any], str]] = {
    "enum": _one_of,
    "const": lambda wanted: shortened(json.dumps(wanted, ensure_ascii=False)),
    "pattern": _matching,
    "minimum": lambda wanted: f"at least {wanted}",
    "maximum": lambda wanted: f"at most {wanted}",
    "exclusiveMinimum": lambda wanted: f"more than {wanted}",
    "exclusiveMaximum": lambda wanted: f"less than {wanted}",
    "multipleOf": lambda wanted: f"a multiple of {wanted}",
    "minLength": _count("character", "at least"),
    "maxLength": _count("character", "at most"),
    "minItems": _count("item", "at least"),
    "maxItems": _count("item", "at most"),
    "minProperties": _count("member", "at least"),
    "maxProperties": _count("member", "at most"),
    "uniqueItems": lambda wanted: "items that all differ",
    "oneOf": lambda wanted: "exactly one of the alternatives to fit",
    "anyOf": lambda wanted: "one of the alternatives to fit",
    "not": lambda wanted: "something that the schema does not exclude" if wanted else "nothing",
    "propertyNames": lambda wanted: "other names",
}
