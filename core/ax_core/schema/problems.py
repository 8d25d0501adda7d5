"""The gate's answers: admitted arguments, or the problems with them in words for a model."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

from ax_core.frozen import frozen

Kind = Literal["missing", "unexpected", "type", "value", "syntax", "size", "depth", "encoding", "schema"]

MAX_LISTED = 12
"""Problems kept and spelt out; the rest is counted."""

MAX_TEXT = 200
"""Characters of any one text that a message quotes."""

JSON_TYPES = {
    str: "string",
    int: "integer",
    float: "number",
    bool: "boolean",
    dict: "object",
    list: "array",
    type(None): "null",
}
"""The JSON type of each Python type that the gate lets in; a float is a number, also where it is whole."""


@frozen()
class Admitted:
    """The arguments as they are hashed, shown and executed.

    Attributes:
        args: the gate's own copy: coerced, defaults filled.
        notes: what was changed on the way in, one line each: readings, aliases, ignored arguments.
    """

    args: dict[str, Any]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong with a call's arguments.

    Attributes:
        path: the argument (``items[0].sku``); empty for the arguments as a whole.
        kind: what sort of thing is wrong; ``schema`` is the tool's own fault.
        message: the whole sentence, for a model or a person.
        expected: what the schema wants, or empty.
        given: what came, shortened; never the content of objects, arrays or redacted arguments.
        suggestion: the argument that was probably meant, or empty.
    """

    path: str
    kind: Kind
    message: str
    expected: str = ""
    given: str = ""
    suggestion: str = ""


@dataclass(frozen=True, slots=True)
class Invalid:
    """The call was refused and the tool not run.

    Attributes:
        problems: at most `MAX_LISTED` of them, in a stable order.
        more: how many were found beyond these.
        accepts: the tool's visible arguments, for the model's next try: ``path (string, required)``.
    """

    problems: tuple[Problem, ...]
    more: int = 0
    accepts: tuple[str, ...] = ()

    def for_model(self) -> str:
        """What a model reads: each problem, near matches, what the tool takes; at most 4000 characters."""
        lines = ["The tool was not run: its arguments do not fit."]
        lines += [f"- {problem.message}" for problem in self.problems]
        if self.more:
            lines.append(f"- and {self.more} more")
        if any(
            problem.kind in ("missing", "unexpected") and "." not in problem.path for problem in self.problems
        ):
            lines.append(f"It takes: {listed(self.accepts)}." if self.accepts else "It takes no arguments.")
        lines.append(
            "Correct the arguments before calling it again; the same arguments will be refused again."
        )
        if any(problem.kind == "schema" for problem in self.problems):
            lines[-1] = "This is a fault of the tool's definition: calling it again will not help."
        return shortened("\n".join(lines), 4000)


def shortened(text: str, limit: int = MAX_TEXT) -> str:
    """At most ``limit`` characters of ``text``, with an ellipsis where it was cut."""
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


def listed(names: Iterable[str], limit: int = 20) -> str:
    """The names as one short enumeration."""
    every = [shortened(name, 100) for name in names]
    more = f" and {len(every) - limit} more" if len(every) > limit else ""
    return f"{', '.join(every[:limit])}{more}"


def quoted(name: str) -> str:
    """A name or text that came from outside, in quotes, printable and short."""
    return repr(shortened(name, 60))


def described(value: Any) -> str:
    """What was given, in words: its type and, for scalars, a short text of it."""
    kind = type(value)
    if value is None:
        return "null"
    if kind is str:
        return f"text {quoted(value)}"
    if kind is dict or kind is list:
        noun, part = ("object", "member") if kind is dict else ("array", "item")
        return f"an {noun} with {len(value)} {part}{'' if len(value) == 1 else 's'}"
    return f"{JSON_TYPES.get(kind, kind.__name__)} {shortened(json.dumps(value), 60)}"


def place(path: Iterable[str | int]) -> str:
    """A path as text: ``items[0].sku``."""
    text = ""
    for step in path:
        if isinstance(step, int):
            text += f"[{step}]"
        else:
            name = shortened(step, 60)
            name = name if name.isprintable() else repr(name)
            text += f".{name}" if text else name
    return shortened(text)
