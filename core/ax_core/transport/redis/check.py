"""What is asked of a server at start, so that it is refused there and not in the middle of the night."""

from __future__ import annotations

from typing import Any

from ...errors import TransportError
from . import scripts
from .address import Refused
from .keys import GROUP
from .link import Link

OLDEST, NEWEST = (6, 2), 8


def check(link: Link, noise: str) -> list[str]:
    """Warnings; see :meth:`ax_core.ports.Transport.check`.

    Args:
        noise: makes the name of the scratch stream unique.

    Raises:
        TransportError: this server cannot be used; the message says why and what to do.
    """
    warnings: list[str] = []
    try:
        facts = _facts(link)
    except TransportError as error:
        if not isinstance(error.__cause__, Refused):
            raise
        warnings.append(f"INFO is refused, so version and eviction policy are unknown: {error.__cause__}")
    else:
        _kind(link, facts)
        warnings += _doubts(facts)
    _rights(link, noise)
    return warnings


def _facts(link: Link) -> dict[str, str]:
    lines = link.ask(("INFO",))[0].decode(errors="replace").splitlines()
    return dict(line.split(":", 1) for line in lines if ":" in line)


def _kind(link: Link, facts: dict[str, str]) -> None:
    shown = link.address.shown
    mode, role = facts.get("redis_mode") or facts.get("server_mode"), facts.get("role")
    if mode == "sentinel":
        raise TransportError(f"{shown} is a Sentinel and holds no data: give the address of the primary")
    if mode == "cluster" or facts.get("cluster_enabled") == "1":
        raise TransportError(
            f"{shown} is a Redis Cluster, which AX does not follow from node to node: "
            "all its streams lie in one slot anyway, so a single server does as well"
        )
    if role == "slave":
        raise TransportError(f"{shown} is a read-only replica: give the address of the primary")
    if _version(facts) < OLDEST:
        version = facts.get("redis_version", "?")
        raise TransportError(f"{shown} is Redis {version}; AX needs {'.'.join(map(str, OLDEST))} or newer")


def _doubts(facts: dict[str, str]) -> list[str]:
    warnings = []
    if _version(facts)[0] > NEWEST:
        warnings.append(f"Redis {facts['redis_version']} is newer than what AX was tested with ({NEWEST})")
    policy = facts.get("maxmemory_policy", "noeviction")
    if policy != "noeviction":
        warnings.append(
            f"maxmemory-policy is {policy}: under memory pressure Redis may drop the queue or a session's hint. "
            "Nothing is lost, but work is delayed until it is published again; set it to noeviction"
        )
    return warnings


def _version(facts: dict[str, str]) -> tuple[int, ...]:
    parts = facts.get("redis_version", "").split(".")[:2]
    return tuple(int(part) if part.isdecimal() else 0 for part in parts)


def _rights(link: Link, noise: str) -> None:
    """Do once, on a stream of its own, whatever will be done later."""
    stream = f"{link.keys.check}:{noise}"
    lock = link.keys.lock(link.address.prefix, f"check-{noise}")
    places = link.keys.places(f"check-{noise}")
    one: tuple[Any, ...] = (1, stream)
    plain = (
        ("XGROUP", "CREATE", stream, GROUP, "0", "MKSTREAM"),
        ("PEXPIRE", stream, 60_000),
        ("XADD", stream, "MAXLEN", "~", 10, "*", "v", "0"),
        ("XREADGROUP", "GROUP", GROUP, "check", "COUNT", 1, "STREAMS", stream, ">"),
        ("XREAD", "COUNT", 1, "STREAMS", stream, "0"),
        ("XRANGE", stream, "-", "+"),
        ("XREVRANGE", stream, "+", "-"),
        ("XLEN", stream),
        ("XPENDING", stream, GROUP),
        ("XACK", stream, GROUP, "0-1"),
        ("XDEL", stream, "0-1"),
    )
    # Apart: a script that the server does not know yet is asked for again at the end.
    scripted = (
        (scripts.TAKE, *one, GROUP, "check", 1),
        (scripts.KEEP, *one, GROUP, "check", "0-1"),
        (scripts.RECLAIM, *one, GROUP, "check", 0, 1),
        (scripts.GIVE_BACK, *one, GROUP, "check", "0-1"),
        (scripts.DONE, *one, GROUP, "check", 1, 10, 1000, "0-1"),
        (scripts.PRUNE, *one, GROUP, 0, ""),
        (scripts.TAKE_PLACE, 1, places, 1, "check", 1000),
        (scripts.KEEP_PLACES, 1, places, 1000, "check"),
        (scripts.HOLD, 1, lock, noise, 1000),
        (scripts.LET_GO, 1, lock, noise),
    )
    try:
        link.ask(*plain)
        link.ask(*scripted)
        link.ask(("DEL", stream), ("ZREM", places, "check"))
    except TransportError as error:
        if isinstance(error.__cause__, Refused):
            raise TransportError(
                f"{link.address.shown} does not let this login do what AX has to do on {link.keys.root}* and "
                f"agent_lock:*: {error.__cause__}"
            ) from error.__cause__
        raise
