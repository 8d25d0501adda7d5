"""A function's signature as a tool's schema, and admitted arguments as the objects it asks for."""

from ax_core.registry.signature.binder import Binder, bind
from ax_core.registry.signature.error import SignatureError
from ax_core.registry.signature.schema import description_of, schema_of

__all__ = ["Binder", "SignatureError", "bind", "description_of", "schema_of"]
