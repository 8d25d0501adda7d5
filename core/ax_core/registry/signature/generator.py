"""How pydantic writes the schemas: without made-up titles, and closed to names nobody declared.

Imported at first use only, since it imports pydantic.
"""

from __future__ import annotations

from typing import Any

from pydantic.json_schema import GenerateJsonSchema


class ClosedSchema(GenerateJsonSchema):
    """Refuses unknown names in nested objects too; pydantic alone would drop them without a word."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        """Never: a title made from the name says nothing the name does not."""
        return False

    def model_schema(self, schema: Any) -> dict[str, Any]:
        """Closed, unless the model itself says what it does with extras."""
        return _closed(super().model_schema(schema), schema["cls"])

    def dataclass_schema(self, schema: Any) -> dict[str, Any]:
        """Closed."""
        return _closed(super().dataclass_schema(schema), schema["cls"])

    def typed_dict_schema(self, schema: Any) -> dict[str, Any]:
        """Closed."""
        return _closed(super().typed_dict_schema(schema), schema.get("cls"))


def _closed(written: dict[str, Any], cls: Any) -> dict[str, Any]:
    config = getattr(cls, "model_config", None) or getattr(cls, "__pydantic_config__", None) or {}
    if "properties" in written and "extra" not in config:
        written.setdefault("additionalProperties", False)
    return written
