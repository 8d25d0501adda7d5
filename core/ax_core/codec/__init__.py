"""Values and errors as text every database keeps: tagged JSON, never pickle, never an import."""

from ax_core.codec.codec import Codec
from ax_core.codec.encoded import Encoded, Opaque, Unreadable
from ax_core.codec.failure import encode_error, safe_message
from ax_core.codec.rebuild import RemoteToolError, rebuild
from ax_core.codec.stored_error import StoredError, decode_error
from ax_core.codec.text import storable
from ax_core.codec.types import TypeCodec

__all__ = [
    "Codec",
    "Encoded",
    "Opaque",
    "RemoteToolError",
    "StoredError",
    "TypeCodec",
    "Unreadable",
    "decode_error",
    "encode_error",
    "rebuild",
    "safe_message",
    "storable",
]
