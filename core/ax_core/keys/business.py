"""Business keys: the arguments that say which business intent a call is, by declared names and rules."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from typing import Any

from ax_core.keys.encoding import plain
from ax_core.keys.jcs import NotCanonical, canonical, member, number

_DECIMAL = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,9})?")
_INDEX = re.compile(r"[0-9]{1,9}")
_MISSING = object()


def business_key(
    fields: str | Iterable[str],
    args: Mapping[str, Any],
    normalise: Mapping[str, str | tuple[str, ...]] | None = None,
    aliases: Mapping[str, str] | None = None,
) -> tuple[str, ...]:
    """The parts of a business key, for `digest` and readable in an audit: per field its name, rule and value.

    Fields stand in alphabetical order, each once, whatever order they were declared in. A missing argument is
    ``(field, "missing", "")``, which is not null.

    Args:
        fields: argument names; ``order.id`` and ``items.0.sku`` go inside. A name with dots that exists as it
            stands is meant as it stands.
        args: the arguments after the schema gate: defaults filled.
        normalise: field → rule, or several in order: ``"text"`` (default: compared exactly), ``"decimal"``
            (10, 10.0, "+10", "1e1" and "0010" agree, every digit counts), ``"casefold"``, ``"whitespace"``
            (runs become one space, none at the ends). Rules for text leave other types alone.
        aliases: alias → argument name, of top-level arguments.

    Raises:
        NotCanonical: two names of one argument that disagree; a value that ``"decimal"`` cannot read; a value
            without a canonical form.
        ValueError: an unknown rule, or a rule for a field that is not in the key.
    """
    rules = {
        field: (rule,) if isinstance(rule, str) else tuple(rule) for field, rule in (normalise or {}).items()
    }
    names = sorted({fields} if isinstance(fields, str) else set(fields))
    _check(rules, names)
    args = _collapsed(args, aliases or {})
    parts: list[str] = []
    for name in names:
        value = _lookup(args, name)
        if value is _MISSING:
            parts += [name, "missing", ""]
            continue
        applied = rules.get(name) or ("text",)
        path = member("$", name)
        text = plain(value, path)
        for rule in applied:
            text = NORMALISERS[rule](text, path)
        parts += [name, "+".join(applied), canonical(text).decode()]
    return tuple(parts)


def _check(rules: Mapping[str, tuple[str, ...]], names: list[str]) -> None:
    for field, applied in rules.items():
        if field not in names:
            raise ValueError(
                f"there is a rule for {field!r}, which is not in the key; its fields are {names}"
            )
        for rule in applied:
            if rule not in NORMALISERS:
                raise ValueError(
                    f"{field!r} has the unknown rule {rule!r}; the rules are {', '.join(NORMALISERS)}"
                )


def _collapsed(args: Mapping[str, Any], aliases: Mapping[str, str]) -> dict[str, Any]:
    made = {name: value for name, value in args.items() if name not in aliases}
    for alias, name in aliases.items():
        if alias not in args:
            continue
        if name in made and canonical(plain(made[name])) != canonical(plain(args[alias])):
            raise NotCanonical(
                member("$", name), f"{name!r} and its alias {alias!r} were given different values"
            )
        made.setdefault(name, args[alias])
    return made


def _lookup(value: Any, path: str) -> Any:
    if isinstance(value, Mapping) and path in value:
        return value[path]
    head, dot, rest = path.partition(".")
    if isinstance(value, Mapping):
        inner = value.get(head, _MISSING)
    elif isinstance(value, list | tuple) and _INDEX.fullmatch(head) and int(head) < len(value):
        inner = value[int(head)]
    else:
        return _MISSING
    return _lookup(inner, rest) if dot else inner


def _decimal(value: Any, path: str) -> Any:
    """A number in any spelling as digits and exponent: exact, and short however large the exponent is."""
    if value is None:
        return None
    text = number(value) if isinstance(value, float) else value
    if isinstance(value, bool) or not isinstance(text, int | str):
        raise NotCanonical(path, f"a {type(value).__name__} is no decimal number")
    if isinstance(text, str) and not _DECIMAL.fullmatch(text):
        raise NotCanonical(path, "this text is no decimal number")
    sign, digits, exponent = Decimal(text).as_tuple()
    full = "".join(map(str, digits)).lstrip("0")
    short = full.rstrip("0")
    return f"{'-' * sign}{short}e{int(exponent) + len(full) - len(short)}" if short else "0"


NORMALISERS: dict[str, Callable[[Any, str], Any]] = {
    "text": lambda value, path: value,
    "decimal": _decimal,
    "casefold": lambda value, path: value.casefold() if isinstance(value, str) else value,
    "whitespace": lambda value, path: " ".join(value.split()) if isinstance(value, str) else value,
}
"""The declared rules by name: (value, path) → value."""
