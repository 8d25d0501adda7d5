"""Where the server is, and new connections to it. The only file that imports redis-py."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from ...errors import TransportError

try:
    from redis import exceptions as errors
    from redis.backoff import NoBackoff
    from redis.connection import ConnectionPool
    from redis.retry import Retry
except ImportError as missing:  # pragma: no cover
    raise TransportError("a redis:// queue needs redis-py: pip install 'ax-adapters[redis]'") from missing

Refused = errors.ResponseError
"""An error that the server replied; a connection that it came by is still good."""

LOST = (errors.ConnectionError, errors.TimeoutError, OSError)
"""The connection is gone, was not to be had, or did not answer in time."""

SILENT = (errors.TimeoutError, TimeoutError)
"""It did not answer in time: asking again at once would only wait again."""

CONNECT_SECONDS = 2.0


class Address:
    """A server by its URL: ``redis://``, ``rediss://`` or ``unix://``, with redis-py's options and ``?prefix=``.

    Attributes:
        prefix: names one deployment; see :mod:`.keys`.
        shown: the URL without its secrets, for people.

    Raises:
        TransportError: redis-py does not understand the URL.
    """

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        options = parse_qsl(parts.query)
        self.prefix = dict(options).get("prefix", "ax")
        self.shown = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"
        # AX reads replies itself, as bytes of the older protocol, and pauses and retries in its own way.
        given = {"decode_responses": False, "protocol": 2, "retry": Retry(NoBackoff(), 0)}
        query = urlencode([(n, value) for n, value in options if n not in ("prefix", *given)])
        try:
            pool = ConnectionPool.from_url(urlunsplit(parts._replace(query=query)), **given)
            self._make = pool.connection_class
            self._given = {"socket_connect_timeout": CONNECT_SECONDS, **pool.connection_kwargs}
            if "path" in self._given:  # a socket in the file system
                del self._given["socket_connect_timeout"]
            self._make(**self._given)
        except (ValueError, TypeError) as error:
            raise TransportError(f"{self.shown} cannot be a queue: {error}") from error

    def pool(self, patience: float) -> Any:
        """Such connections for a client of redis-py's own."""
        return ConnectionPool(connection_class=self._make, **{**self._given, "socket_timeout": patience})

    def connection(self, patience: float) -> Any:
        """A connection that is made at its first use, and gives up on a reply after ``patience`` seconds."""
        return self._make(**{**self._given, "socket_timeout": patience})
