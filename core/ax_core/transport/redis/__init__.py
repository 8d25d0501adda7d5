"""The transport over Redis Streams. Needs redis-py, the extra ``redis``."""

from .source import RedisSource
from .transport import RedisTransport

__all__ = ["RedisSource", "RedisTransport"]
