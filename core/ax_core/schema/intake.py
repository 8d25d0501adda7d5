"""Taking arguments in: a private copy in plain JSON, with size and depth bounded before any other work."""

from __future__ import annotations

from dataclasses import dataclass
from json.encoder import encode_basestring
from typing import Any

from ax_core.keys import MAX_DIGITS, NotCanonical, plain
from ax_core.schema.problems import Problem, place, shortened

Path = tuple[str | int, ...]

MAX_BYTES = 1 << 20
MAX_DEPTH = 64
_LIMIT = 10**MAX_DIGITS


class Refused(Exception):
    """Arguments that are not even looked at; carries the problem."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.message)
        self.problem = problem


@dataclass(frozen=True, slots=True)
class Limits:
    """How large arguments may be.

    Attributes:
        max_bytes: of their JSON text in UTF-8.
        max_depth: containers within containers, the arguments' own object included.
    """

    max_bytes: int = MAX_BYTES
    max_depth: int = MAX_DEPTH


def take(value: Any, limits: Limits, path: Path = (), depth: int = 0) -> Any:
    """A copy of ``value`` in plain JSON values that shares no container with it.

    Raises:
        Refused: too large, too deep, or a value without a JSON form.
    """
    return _Taking(limits).copy(value, path, depth)


def too_large(limits: Limits, size: str = "") -> Problem:
    """The problem of arguments beyond the size limit."""
    most = f"{limits.max_bytes} bytes"
    message = f"the arguments are larger than {most}{size}; send less, or a reference to stored content"
    return Problem("", "size", message, expected=f"at most {most}")


class _Taking:
    """One copy under way; ``left`` is how many bytes it may still grow."""

    __slots__ = ("left", "limits")

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.left = limits.max_bytes

    def copy(self, value: Any, path: Path, depth: int) -> Any:
        kind = type(value)
        if kind is str:
            self.text(value, path)
            return value
        if kind is dict:
            made = {}
            self.enter(path, depth)
            for name, each in value.items():
                if type(name) is not str:
                    return self.converted(value, path, depth)
                self.text(name, path)
                made[name] = self.copy(each, (*path, name), depth + 1)
            return made
        if kind is list:
            self.enter(path, depth)
            return [self.copy(each, (*path, index), depth + 1) for index, each in enumerate(value)]
        if kind is bool or value is None:
            self.left -= 6
        elif kind is int:
            if not -_LIMIT < value < _LIMIT:
                raise Refused(_unfit(path, f"an integer of more than {MAX_DIGITS} digits"))
            self.left -= 2 + value.bit_length() // 3
        elif kind is float:
            if value - value != 0.0:
                raise Refused(_unfit(path, f"{value!r} is no JSON number"))
            self.left -= 20
        else:
            return self.converted(value, path, depth)
        if self.left < 0:
            raise Refused(too_large(self.limits))
        return value

    def enter(self, path: Path, depth: int) -> None:
        if depth >= self.limits.max_depth:
            limit = f"at most {self.limits.max_depth} levels"
            message = f"the arguments are nested too deeply: {limit} are accepted"
            raise Refused(Problem(place(path[:1]), "depth", message, expected=limit))
        self.left -= 2
        if self.left < 0:
            raise Refused(too_large(self.limits))

    def text(self, value: str, path: Path) -> None:
        # The length first: text beyond the limit is not even encoded.
        if len(value) <= self.left:
            try:
                self.left -= 1 + len(encode_basestring(value).encode())
            except UnicodeEncodeError:
                raise Refused(_unfit(path, "text with a lone surrogate, which no UTF-8 text has")) from None
            if self.left >= 0:
                return
        where = (
            f" ({place(path[:1])!r} holds most of it)"
            if path and len(value) > self.limits.max_bytes // 2
            else ""
        )
        raise Refused(too_large(self.limits, where))

    def converted(self, value: Any, path: Path, depth: int) -> Any:
        try:
            return self.copy(plain(value, place(path) or "arguments"), path, depth)
        except NotCanonical as error:
            raise Refused(_unfit(path, shortened(error.why))) from None


def _unfit(path: Path, why: str) -> Problem:
    where = place(path)
    return Problem(where, "encoding", f"{where or 'arguments'}: {why}", expected="a JSON value")
