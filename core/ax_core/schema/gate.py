"""The gate of one tool: raw arguments in; admitted arguments or what is wrong with them out."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from ax_core.keys import canonical
from ax_core.schema.explain import explained, unexpected
from ax_core.schema.intake import Limits, Path, Refused, take, too_large
from ax_core.schema.jsontext import BadText, read_json
from ax_core.schema.patterns import bounded, compiled
from ax_core.schema.plainly import Plainly
from ax_core.schema.problems import JSON_TYPES, MAX_LISTED, Admitted, Invalid, Problem, quoted
from ax_core.schema.settle import Log, settle
from ax_core.schema.shape import Shape
from ax_core.schema.visible import Visible

log = logging.getLogger("ax.schema")


@dataclass(frozen=True, slots=True, eq=False)
class Gate:
    """What a tool's arguments must be. Made by `ax_core.schema.compile_gate`; safe to share between threads.

    Attributes:
        schema: the gate's own copy of the schema, without hidden arguments.
        remarks: what was accepted at registration but will not do what the schema's author may think.
        names: the visible arguments.
        aliases: alias → argument name.
        hidden: names that only the framework fills in; from a caller they are unexpected.
        redact: arguments (dotted paths) whose values are never quoted.
        lenient_unknown: unknown arguments are dropped with a note instead of refused.
        limits: how large arguments may be.
        shape, validator: the two halves of the check, compiled once.
        plainly: the glance that spares most calls both.
    """

    schema: Any
    remarks: tuple[str, ...]
    names: Visible
    aliases: dict[str, str]
    hidden: frozenset[str]
    redact: frozenset[str]
    lenient_unknown: bool
    limits: Limits
    shape: Shape
    validator: Any
    plainly: Plainly | None

    def admit(self, raw: Any, max_bytes: int | None = None) -> Admitted | Invalid:
        """Check a call's arguments; never raises on their content, never changes them.

        Args:
            raw: a mapping, a model or dataclass, or JSON text (decoded once). None, empty text, ``"null"``
                and ``"{}"`` mean no arguments.
            max_bytes: another limit than the gate's own.

        Returns:
            `Admitted`, or `Invalid`: then the tool must not run.
        """
        limits = self.limits
        if self.plainly is not None:
            args = self.plainly.copied(raw, limits.max_bytes if max_bytes is None else max_bytes)
            if args is not None:
                return Admitted(args)
        if max_bytes is not None and max_bytes != limits.max_bytes:
            limits = Limits(max_bytes, limits.max_depth)
        try:
            args = take(_opened(raw, limits), limits)
            if type(args) is not dict:
                return self._invalid([_no_object(args)])
            return self._checked(args, limits)
        except Refused as refused:
            return self._invalid([refused.problem])
        except Exception as error:
            # Fail closed. Only the type is logged: the text may quote arguments.
            log.error("a tool's schema could not be applied: %s", type(error).__name__)
            message = "the arguments could not be checked against the tool's schema"
            if isinstance(error, RecursionError):
                return self._invalid(
                    [Problem("", "depth", "the arguments are nested too deeply to be checked")]
                )
            return self._invalid([Problem("", "schema", message)])

    def _checked(self, args: dict[str, Any], limits: Limits) -> Admitted | Invalid:
        state = Log(limits, self._redacted)
        problems: list[Problem] = []
        if not args.keys() <= self.names.schemas.keys():
            problems = self._renamed(args, state)
        settle(args, self.shape, state)
        if not (state.unsure or state.problems or problems):
            return Admitted(args, state.said())
        problems += state.problems.values()
        with bounded():
            problems += explained(self.validator.iter_errors(args), state)
        return self._invalid(problems) if problems else Admitted(args, state.said())

    def _renamed(self, args: dict[str, Any], state: Log) -> list[Problem]:
        """Take aliases and unknown names out of ``args``; the problems with them."""
        problems = []
        for alias in [name for name in args if name in self.aliases]:
            name, value = self.aliases[alias], args.pop(alias)
            if name in args and canonical(args[name]) != canonical(value):
                message = f"{quoted(name)} and {quoted(alias)} are one argument, and their values differ"
                problems.append(Problem(name, "value", message))
            elif name not in args:
                args[name] = value
                state.note(f"{name}: given as {quoted(alias)}")
        unknown = [name for name in args if not self._known(name)]
        for name in unknown:
            del args[name]
        for name in unknown[:MAX_LISTED]:
            problem = unexpected(name, (), self.names.schemas, args)
            if self.lenient_unknown and name not in self.hidden:
                state.note(f"{problem.message} (ignored)")
            else:
                problems.append(problem)
        rest = unknown[MAX_LISTED:]
        if self.lenient_unknown and rest:
            state.note(f"and {len(rest)} more unexpected arguments (ignored)")
        if rest and not (self.lenient_unknown and self.hidden.isdisjoint(rest)):
            problems.append(Problem("", "unexpected", f"and {len(rest)} more unexpected arguments"))
        return problems

    def _known(self, name: str) -> bool:
        if name in self.hidden:
            return False
        if self.names.open or name in self.names.schemas:
            return True
        return any(compiled(source).search(name) for source in self.names.patterns)

    def _redacted(self, path: Path) -> bool:
        if not self.redact:
            return False
        steps = [step for step in path if isinstance(step, str)]
        return any(".".join(steps[:n]) in self.redact for n in range(1, len(steps) + 1))

    def _invalid(self, problems: Iterable[Problem]) -> Invalid:
        every = list(problems)
        return Invalid(tuple(every[:MAX_LISTED]), max(0, len(every) - MAX_LISTED), self.names.accepts())


def oversized(max_bytes: int) -> Invalid:
    """The refusal of arguments that something else has checked, and that are larger than this."""
    return Invalid((too_large(Limits(max_bytes)),))


def _opened(raw: Any, limits: Limits) -> Any:
    """The arguments that ``raw`` stands for: text is decoded once; of a model, only what was set counts."""
    if raw is None:
        return {}
    if isinstance(raw, bytes | bytearray):
        try:
            raw = raw.decode() if len(raw) <= limits.max_bytes else " " * (limits.max_bytes + 1)
        except UnicodeDecodeError:
            raise Refused(Problem("", "syntax", "the arguments are no UTF-8 text", "a JSON object")) from None
    if isinstance(raw, str):
        # Blanks count: the limit is on what was sent, before any of it is read.
        if len(raw) > limits.max_bytes:
            raise Refused(too_large(limits))
        if not raw.strip():
            return {}
        try:
            value = read_json(raw)
        except BadText as error:
            raise Refused(
                Problem("", "syntax", f"the arguments are text, but {error}", "a JSON object")
            ) from None
        return {} if value is None else value
    fields = getattr(type(raw), "model_fields", None)
    if isinstance(fields, dict) and hasattr(raw, "model_fields_set"):
        return {_alias(fields, name): getattr(raw, name) for name in raw.model_fields_set}
    return raw


def _alias(fields: dict[str, Any], name: str) -> str:
    field = fields.get(name)
    return getattr(field, "serialization_alias", None) or getattr(field, "alias", None) or name


def _no_object(value: Any) -> Problem:
    given = JSON_TYPES[type(value)]
    return Problem("", "type", f"the arguments must be one JSON object, not {given}", "object", given)
