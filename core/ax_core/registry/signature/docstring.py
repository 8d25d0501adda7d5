"""What a docstring says of the parameters, in Google, NumPy or Sphinx style, and the rest of it."""

from __future__ import annotations

import functools
import inspect
import re
import types
from typing import Any, NamedTuple

_HEADERS = re.compile(r"(args|arguments|parameters|params|other parameters|keyword arg(ument)?s)(:?)", re.I)
_GOOGLE = re.compile(r"\*{0,2}(\w+)\s*(?:\(.*?\))?\s*:(?:\s+(.*))?")
_NUMPY = re.compile(r"(\*{0,2}\w+(?:\s*,\s*\*{0,2}\w+)*)\s*(?::.*)?()")
_SPHINX = re.compile(r":(param|type)\s+(?:.*\s)?\*{0,2}(\w+)\s*:\s*(.*)")


class Docstring(NamedTuple):
    """`text` is the docstring without its parameters; `parameters` has what it says of each."""

    text: str
    parameters: dict[str, str]


def docstring_of(fn: Any) -> Docstring:
    """The docstring of a function, partial, method or callable object; empty where there is none."""
    while isinstance(fn, functools.partial):
        fn = fn.func
    doc = inspect.getdoc(fn)
    if doc is None and not isinstance(fn, (type, types.FunctionType, types.MethodType)):
        doc = inspect.getdoc(type(fn).__call__)
    return read_docstring(doc or "")


def read_docstring(doc: str) -> Docstring:
    """Take the section of parameters out of a docstring; what fits none of the three styles stays text."""
    rest: list[str] = []
    found: dict[str, str] = {}
    lines = doc.splitlines()
    at = 0
    while at < len(lines):
        line = lines[at].strip()
        header = _HEADERS.fullmatch(line)
        if header and header[3] and at + 1 < len(lines) and _indent(lines[at + 1]) > _indent(lines[at]):
            end = _block_end(lines, at + 1, _indent(lines[at]))
            _collect(lines[at + 1 : end], _GOOGLE, found)
        elif header and not header[3] and _underlined(lines, at):
            end = _numpy_end(lines, at + 2)
            _collect(lines[at + 2 : end], _NUMPY, found)
        elif entry := _SPHINX.fullmatch(line):
            end = _block_end(lines, at + 1, _indent(lines[at]), blank_ends=True)
            if entry[1] == "param":
                found[entry[2]] = _joined([entry[3], *lines[at + 1 : end]])
        else:
            rest.append(lines[at])
            end = at + 1
        at = end
    text = re.sub(r"\n\s*\n\s*\n+", "\n\n", "\n".join(rest)).strip()
    return Docstring(text, {name: said for name, said in found.items() if said})


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _joined(lines: list[str]) -> str:
    return " ".join(line.strip() for line in lines if line.strip())


def _underlined(lines: list[str], at: int) -> bool:
    return at + 1 < len(lines) and bool(re.fullmatch(r"\s*-{3,}\s*", lines[at + 1]))


def _block_end(lines: list[str], at: int, indent: int, *, blank_ends: bool = False) -> int:
    """Where the lines indented deeper than `indent` end."""
    while at < len(lines) and (_indent(lines[at]) > indent if lines[at].strip() else not blank_ends):
        at += 1
    return at


def _numpy_end(lines: list[str], at: int) -> int:
    while at < len(lines) and not _underlined(lines, at):
        at += 1
    return at


def _collect(lines: list[str], style: re.Pattern[str], found: dict[str, str]) -> None:
    level = next((_indent(line) for line in lines if line.strip()), 0)
    names: list[str] = []
    for line in lines:
        entry = style.fullmatch(line.strip()) if _indent(line) == level else None
        if entry:
            names = [name.strip().lstrip("*") for name in entry[1].split(",")]
            found.update(dict.fromkeys(names, entry[2] or ""))
        elif line.strip():
            for name in names:
                found[name] = _joined([found[name], line])
