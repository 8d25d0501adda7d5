"""Gates for tests: schemas in one line, answers as plain values."""

from __future__ import annotations

from typing import Any

from ax_core.schema import Admitted, Gate, Invalid, compile_gate


def takes(properties: dict[str, Any], *required: str, **keywords: Any) -> dict[str, Any]:
    """A schema of an object with these properties."""
    return {"type": "object", "properties": properties, "required": list(required), **keywords}


def admitted(gate: Gate, raw: Any) -> dict[str, Any]:
    """The arguments that the gate lets in; fails where it refuses."""
    answer = gate.admit(raw)
    assert isinstance(answer, Admitted), answer.for_model()
    return answer.args


def refused(gate: Gate, raw: Any) -> Invalid:
    """The gate's refusal; fails where it lets the arguments in."""
    answer = gate.admit(raw)
    assert isinstance(answer, Invalid), answer
    return answer


def one(schema: Any, **options: Any) -> Gate:
    """The gate of a tool with one required argument, ``x``."""
    return compile_gate(takes({"x": schema}, "x"), **options)
