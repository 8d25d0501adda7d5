"""What is wrong with a schema, said at registration."""

from __future__ import annotations

from ax_core.errors import PolicyError


class SchemaError(PolicyError, ValueError):
    """This schema cannot be honoured, so its tool is not registered.

    Attributes:
        path: where in the schema, as a JSON pointer fragment (``#/properties/x``).
        why: what is wrong with it, and what to do.
    """

    code = "invalid_schema"

    def __init__(self, path: str, why: str) -> None:
        super().__init__(f"schema {path}: {why}")
        self.path = path
        self.why = why
