"""What a regular expression is made of, as far as its spelling and its running time are concerned."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

_BRACES = re.compile(r"\{(\d*)(,?)(\d*)\}")
_LOOK = re.compile(r"\(\?<?[=!]")
_NAMED = re.compile(r"\(\?<(?![=!])")
_AFTER_CLASS = re.compile(r"(\\[wWdDsS])-(?!\])")
_FEW = 10


@dataclass(frozen=True, slots=True)
class Outline:
    """A pattern, read once from left to right.

    Attributes:
        linear: in the spelling of Rust's ``regex``.
        python: in the spelling of Python's ``re``; in both, ``$`` is the very end.
        costs: worst cases of backtracking as (unbounded repeats, product of the bounded choices).
        nested: a repeated group holds a repeat or alternatives: no such bound exists.
    """

    linear: str
    python: str
    costs: tuple[tuple[int, float], ...]
    nested: bool


@dataclass(slots=True)
class _Group:
    """An open group: what was counted before it, and what is in it."""

    look: bool
    repeats: int
    choices: float
    bars: int = 0
    varies: bool = False


@dataclass(slots=True)
class _Reading:
    linear: list[str] = field(default_factory=list)
    python: list[str] = field(default_factory=list)
    costs: list[tuple[int, float]] = field(default_factory=list)
    groups: list[_Group] = field(default_factory=lambda: [_Group(False, 0, 1.0)])
    repeats: int = 0
    choices: float = 1.0
    nested: bool = False
    varied: bool = False  # whether the item just read is a group that varies

    def put(self, text: str, python: str | None = None) -> None:
        self.linear.append(text)
        self.python.append(text if python is None else python)

    def repeat(self, least: int, most: int | None) -> None:
        self.nested = self.nested or (self.varied and most != 1)
        if most is None or most - least > _FEW:
            self.repeats += 1
        else:
            self.choices = min(self.choices * (most - least + 1), 1e300)
        if most != least:
            self.groups[-1].varies = True

    def open(self, look: bool) -> None:
        self.groups.append(_Group(look, self.repeats, self.choices))

    def close(self) -> None:
        group = self.groups.pop() if len(self.groups) > 1 else self.groups[0]
        self.choices = min(self.choices * (group.bars + 1), 1e300)
        self.varied = group.varies or group.bars > 0
        self.groups[-1].varies = self.groups[-1].varies or self.varied
        if group.look:
            # What look-around matched is never tried again: it costs where it stands, and nothing later.
            self.costs.append((self.repeats, self.choices))
            self.repeats, self.choices = group.repeats, group.choices


def outline(source: str) -> Outline:
    """Read a pattern. Never fails: whether it is one is for an engine to say."""
    reading, at = _Reading(), 0
    while at < len(source):
        at = _step(source, at, reading)
    top = reading.groups[0]
    reading.costs.append((reading.repeats, min(reading.choices * (top.bars + 1), 1e300)))
    # An unanchored search starts anew at every character.
    starts = 0 if source.startswith("^") and not top.bars else 1
    costs = tuple((repeats + starts, choices) for repeats, choices in reading.costs)
    return Outline("".join(reading.linear), "".join(reading.python), costs, reading.nested)


def _step(source: str, at: int, reading: _Reading) -> int:
    """Read the item at ``at``; the position after it."""
    letter = source[at]
    if letter in "*+?":
        reading.repeat(1 if letter == "+" else 0, 1 if letter == "?" else None)
        reading.put(letter)
        return at + 1
    braces = _BRACES.match(source, at) if letter == "{" else None
    if braces and (braces[1] or braces[3]):
        least = int(braces[1] or 0)
        reading.repeat(least, int(braces[3]) if braces[3] else None if braces[2] else least)
        reading.put(braces[0])
        return braces.end()
    reading.varied = False
    if letter == "\\":
        pair = source[at : at + 2]
        reading.put(r"\z" if pair == r"\Z" else pair, r"\Z" if pair == r"\z" else pair)
        return at + 2
    if letter == "[":
        end = _class_end(source, at)
        reading.put(_class(source[at:end]))
        return end
    if letter == "(":
        reading.open(_LOOK.match(source, at) is not None)
        named = _NAMED.match(source, at)
        if named:
            reading.put("(?<", "(?P<")
            return named.end()
    elif letter == ")":
        reading.close()
    elif letter == "|":
        reading.groups[-1].bars += 1
    reading.put(letter, r"\Z" if letter == "$" else None)
    # The question mark of a group's kind is no repeat.
    if source.startswith("(?", at):
        reading.put("?")
        return at + 2
    return at + 1


def _class_end(source: str, at: int) -> int:
    """The end of the character class that opens at ``at``; a ``]`` right after its bracket is a letter."""
    here = at + 1
    if source[here : here + 1] == "^":
        here += 1
    if source[here : here + 1] == "]":
        here += 1
    while here < len(source) and source[here] != "]":
        here += 2 if source[here] == "\\" else 1
    return here + 1


def _class(text: str) -> str:
    """A character class with brackets, set operators and a dash after ``\\w`` as letters: ECMAScript."""
    inner = re.sub(r"(\\.)|([\[&~])", lambda found: found[1] or "\\" + found[2], text[1:], flags=re.DOTALL)
    return "[" + _AFTER_CLASS.sub(r"\1\\-", inner)
