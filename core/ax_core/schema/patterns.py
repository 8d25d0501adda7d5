"""Regular expressions of schemas, matched in bounded time.

A pattern runs on a linear-time engine (the Rust ``regex`` inside pydantic-core), which a hostile text cannot
slow down. What that engine does not know (look-around, back references) runs on Python's ``re`` under two
rules: a repeated group that itself repeats or has alternatives is refused at registration, and a text is
matched only up to the length at which the worst case is about ten million steps; one set of arguments gets
three times as many in all. What is beyond does not match: fail closed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import lru_cache

from ax_core.schema.outline import outline

STEPS = 10_000_000
"""Worst-case steps that one match on Python's engine may take: about a tenth of a second."""

ALL_STEPS = 3 * STEPS
"""The same for all matches within one `bounded` block."""

MAX_PATTERN = 10_000
"""Characters of a pattern."""

SHORTEST = 64
"""A pattern that Python's engine could only match against shorter texts than this is refused."""

_left: ContextVar[list[float] | None] = ContextVar("ax_pattern_steps", default=None)


@contextmanager
def bounded() -> Iterator[None]:
    """Within this block all matches on Python's engine together take at most `ALL_STEPS`."""
    token = _left.set([ALL_STEPS])
    try:
        yield
    finally:
        _left.reset(token)


@dataclass(frozen=True, slots=True)
class Pattern:
    """A pattern ready to be searched for.

    Attributes:
        search: whether the pattern occurs in a text; False beyond ``longest``.
        longest: characters of text it is matched against; None where time is linear anyway.
    """

    search: Callable[[str], bool]
    longest: int | None = None


@lru_cache(maxsize=1024)
def compiled(source: str) -> Pattern:
    """The pattern, with ``$`` meaning the very end as in ECMAScript.

    Raises:
        ValueError: not a regular expression, too long, or one whose time cannot be bounded; says what to do.
    """
    if len(source) > MAX_PATTERN:
        raise ValueError(f"it has more than {MAX_PATTERN} characters")
    read = outline(source)
    linear = _linear(read.linear)
    if linear is not None:
        return Pattern(linear)
    try:
        search = re.compile(read.python).search
    except (re.error, OverflowError, RecursionError) as error:
        raise ValueError(f"it is not a regular expression: {error}") from None
    longest = min([10_000, *(int((STEPS / choices) ** (1 / max(power, 1))) for power, choices in read.costs)])
    if read.nested or longest < SHORTEST:
        raise ValueError(
            "it uses look-around or back references, and so many repeats or alternatives, or such inside a "
            "repeated group, that a match could take for ever; write it without the one or the other"
        )

    def found(text: str) -> bool:
        if len(text) > longest:
            return False
        left = _left.get()
        if left is not None:
            left[0] -= max(choices * len(text) ** power for power, choices in read.costs)
            if left[0] < 0:
                return False
        return search(text) is not None

    return Pattern(found, longest)


def _linear(source: str) -> Callable[[str], bool] | None:
    from pydantic_core import SchemaError, SchemaValidator, core_schema

    try:
        validator = SchemaValidator(
            core_schema.str_schema(pattern=source, regex_engine="rust-regex", strict=True)
        )
    except SchemaError:
        return None
    return validator.isinstance_python
