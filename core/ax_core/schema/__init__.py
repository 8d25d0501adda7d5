"""The schema gate: what does not fit a tool's JSON Schema never reaches the tool.

``compile_gate(schema).admit(raw)`` answers `Admitted` (the exact arguments that are hashed, shown to an
approver and executed) or `Invalid` (what is wrong, in words for a model).
"""

from ax_core.schema.compiling import compile_gate
from ax_core.schema.errors import SchemaError
from ax_core.schema.gate import Gate, oversized
from ax_core.schema.problems import Admitted, Invalid, Problem

__all__ = ["Admitted", "Gate", "Invalid", "Problem", "SchemaError", "compile_gate", "oversized"]
