"""Arguments that do not fit: what the framework refuses is put on record, what it would drop is refused."""

from __future__ import annotations

from typing import Any

from langchain_core.tools import ToolException
from pydantic import ValidationError
from pydantic.v1 import ValidationError as ValidationErrorV1

from ax_core.dispatch import Call
from ax_core.schema import Invalid, Problem
from ax_core.schema.names import nearest

from ..bridge import Binding
from .identity import identify
from .pending import Pending, fields_of
from .registering import DECLARED, registered

MOST = 12


def unknown_arguments(binding: Binding, pending: Pending) -> Invalid | None:
    """What the model gave a declared, acting tool that the tool does not have, or that its dict schema refuses.

    The framework drops it and runs the tool on its defaults, as it does for undeclared tools and reads here too.
    """
    if binding.policy.effect not in DECLARED or not isinstance(pending.raw, dict):
        return None
    record = registered(binding, pending.tool)
    if isinstance(pending.tool.args_schema, dict):
        # LangChain checks nothing against a schema that is a dict (an MCP tool's), so the gate does.
        answer = record.gate.admit(pending.shown, binding.ax.settings.payload_cap)
        return answer if isinstance(answer, Invalid) else None
    schema = record.schema
    names = schema.get("properties", {})
    if schema.get("additionalProperties") or not names:
        return None
    fields = fields_of(pending.tool.get_input_schema())
    known = {*names, *pending.injected, *fields, *(f.alias for f in fields.values() if f.alias)}
    unknown = [name for name in pending.raw if name not in known]
    if not unknown:
        return None
    free = [name for name in names if name not in pending.raw]
    return Invalid(tuple(_unexpected(name, free) for name in unknown[:MOST]), accepts=tuple(names))


def refused_by_framework(pending: Pending, error: Exception) -> Invalid | None:
    """What the framework found wrong with the arguments; None: the exception is about something else."""
    if pending.entered:
        return None
    if isinstance(error, ToolException):
        return Invalid((Problem("", "value", str(error)),))
    if not isinstance(error, ValidationError | ValidationErrorV1):
        return None
    return Invalid(tuple(_problem(item) for item in error.errors()[:MOST]))


def problem_call(binding: Binding, pending: Pending, problem: Invalid) -> Call:
    """The call that only puts a problem on record; its verdict is InvalidArguments."""
    record = registered(binding, pending.tool)
    identity = identify(binding.ax.namespace, record.name, None, None, pending.config)
    return Call(
        record,
        pending.shown,
        problem=problem,
        run_id=identity.run_id,
        session=identity.session,
        address=identity.address,
    )


def _unexpected(name: str, free: list[str]) -> Problem:
    near = nearest(name, free)
    hint = f"; did you mean {near!r}?" if near else ""
    return Problem(name, "unexpected", f"unexpected argument {name!r}{hint}", suggestion=near)


def _problem(item: Any) -> Problem:
    where = ".".join(str(part) for part in item["loc"])
    return Problem(where, "missing" if "missing" in str(item["type"]) else "value", f"{where}: {item['msg']}")
