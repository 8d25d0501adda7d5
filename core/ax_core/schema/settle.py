"""Settling arguments against their shape: lossless readings, each with a note, and defaults, filled once."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ax_core.schema.intake import Limits, Path, take
from ax_core.schema.problems import JSON_TYPES, Problem, described, listed, place
from ax_core.schema.reading import Unread, read_as
from ax_core.schema.shape import Elements, Shape

HIDDEN = "[redacted]"

MOST = 50
"""Notes and problems spelt out; a huge array of texts for numbers is counted."""


@dataclass(slots=True)
class Log:
    """What came up while arguments were settled.

    Attributes:
        limits: for what is decoded on the way.
        redacted: whether the value at a path must not be quoted.
        notes: readings, one line each.
        problems: values that could not be read, by path.
        unsure: whether anything is left for jsonschema to decide.
    """

    limits: Limits
    redacted: Callable[[Path], bool]
    notes: list[str] = field(default_factory=list)
    problems: dict[Path, Problem] = field(default_factory=dict)
    unsure: bool = False
    unsaid: int = 0

    def note(self, text: str) -> None:
        if len(self.notes) < MOST:
            self.notes.append(text)
        else:
            self.unsaid += 1

    def said(self) -> tuple[str, ...]:
        return (*self.notes, f"and {self.unsaid} more changes") if self.unsaid else tuple(self.notes)

    def refuse(self, path: Path, shape: Shape, value: Any, why: str) -> None:
        if len(self.problems) < MOST:
            self.problems[path] = mismatch(path, shape.accepts, self.quote(value, path), why)

    def quote(self, value: Any, path: Path) -> str:
        return HIDDEN if self.redacted(path) else described(value)


def settle(value: Any, shape: Shape, log: Log, path: Path = ()) -> Any:
    """``value`` as the tool will get it. Changes objects and arrays in place: they must be the gate's own.

    Raises:
        Refused: what was decoded is too deep, or holds what JSON cannot.
    """
    kind = JSON_TYPES[type(value)]
    if kind not in shape.accepts:
        if not shape.reads:
            log.unsure = True
            return value
        outcome = read_as(value, shape.reads)
        if isinstance(outcome, Unread):
            log.refuse(path, shape, value, outcome.why)
            return value
        log.note(f"{place(path)}: {log.quote(value, path)} read as {_result(outcome.value, path, log)}")
        value, kind = outcome.value, outcome.kind
        if kind in ("object", "array"):
            value = take(value, log.limits, path, len(path))
    if (
        not shape.decides
        or (kind == "string" and shape.choices is not None and value not in shape.choices)
        or (shape.bounds and not all(bound.holds(value) for bound in shape.bounds if kind in bound.kinds))
    ):
        log.unsure = True
    if kind == "object" and (shape.members or shape.tagged):
        _object(value, shape.chosen(value), log, path)
    elif kind == "array" and shape.elements:
        _array(value, shape.elements, log, path)
    return value


def _object(value: dict[str, Any], shape: Shape, log: Log, path: Path) -> None:
    for name, each in value.items():
        inner = shape.member(name)
        if inner is not None:
            settled = settle(each, inner, log, (*path, name))
            if settled is not each:
                value[name] = settled
    for part in shape.members:
        if not part.required <= value.keys() or (part.closed and not value.keys() <= part.properties.keys()):
            log.unsure = True
        for name, default in part.defaults.items():
            if name not in value:
                value[name] = copy.deepcopy(default)


def _array(value: list[Any], elements: tuple[Elements, ...], log: Log, path: Path) -> None:
    first = elements[0].first
    for index, each in enumerate(value):
        inner = first[index] if index < len(first) else elements[0].rest
        if inner is not None:
            settled = settle(each, inner, log, (*path, index))
            if settled is not each:
                value[index] = settled


def mismatch(path: Path, types: frozenset[str], given: str, why: str = "") -> Problem:
    """A value of a type that the schema does not have there."""
    names = sorted(types - {"integer"} if "number" in types else types)
    expected = listed(names).replace(", ", " or ")
    where = place(path)
    message = f"{where or 'the arguments'}: expected {expected}, got {given}{f' ({why})' if why else ''}"
    return Problem(where, "type", message, expected=expected, given=given)


def _result(value: Any, path: Path, log: Log) -> str:
    if log.redacted(path):
        return JSON_TYPES[type(value)]
    return described(value)
