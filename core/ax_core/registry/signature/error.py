"""Why a function cannot be a tool as it is."""

from __future__ import annotations

from ax_core.errors import PolicyError


class SignatureError(PolicyError, ValueError):
    """A function that cannot be a tool as it is: names function and parameter and says what to do."""

    def __init__(self, function: str, parameter: str | None, hint: str) -> None:
        where = f"parameter {parameter!r} " if parameter else ""
        super().__init__(f"{function}: {where}{hint}")
        self.function = function
        self.parameter = parameter
        self.hint = hint
