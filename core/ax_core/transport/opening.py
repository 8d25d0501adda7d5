"""From the URL of a queue to its transport; nothing of a transport is imported before."""

from __future__ import annotations

import logging

from ..clock import Clock, SystemClock
from ..errors import TransportError
from ..ports import Transport
from ..threads import Threads
from .outage import Complain


def open_transport(
    url: str, *, clock: Clock | None = None, threads: Threads | None = None, complain: Complain | None = None
) -> Transport:
    """The transport for a queue's URL; it connects at first use.

    Args:
        complain: told of what went wrong where no caller can be told; by default it is logged.

    Raises:
        TransportError: no such kind of queue, a URL that makes no sense, or its package is not installed.
    """
    clock = SystemClock() if clock is None else clock
    spawn = (Threads() if threads is None else threads).spawn
    complain = _log if complain is None else complain
    scheme = url.partition(":")[0]
    if scheme in ("redis", "rediss", "unix"):
        from .redis import RedisTransport

        return RedisTransport(url, clock=clock, spawn=spawn, complain=complain)
    if scheme == "celery":
        from .celery import CeleryTransport

        return CeleryTransport(url, clock=clock, spawn=spawn, complain=complain)
    raise TransportError(
        f"no queue is called {scheme!r}: redis://, rediss://, unix:// or celery://module:app"
    )


def _log(what: str, error: BaseException) -> None:
    logging.getLogger("ax").warning("%s: %s", what, error)
