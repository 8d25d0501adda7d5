"""A job as a stream entry, and back. What does not read as one is garbage, whoever put it there."""

from __future__ import annotations

from typing import Any

from ...ports import Job

VERSION = "1"
_ID_BYTES, _NS_BYTES, _FIELDS = 100, 1000, 100


class Garbage(Exception):
    """Not a job; the text says why."""


def fields(job: Job) -> tuple[str, ...]:
    """The fields of the entry: ``v`` version, ``t`` task id, ``n`` namespace, ``r`` the client that waits."""
    told = () if job.reply_to is None else ("r", job.reply_to)
    return ("v", VERSION, "t", job.task_id, "n", job.ns, *told)


def job(raw: list[bytes], queue: str, priority: int) -> Job:
    """The job of an entry's fields; unknown ones are for later versions, and passed over.

    Raises:
        Garbage: a field is missing, not text, too long or of another version, or there are too many.
    """
    if len(raw) > _FIELDS:
        raise Garbage(f"{len(raw) // 2} fields")
    found = dict(zip(raw[::2], raw[1::2], strict=True))
    if (version := found.get(b"v")) != VERSION.encode():
        raise Garbage("no version" if version is None else f"version {version[:20]!r} is unknown here")
    task_id = _text(found, b"t", _ID_BYTES)
    ns = _text(found, b"n", _NS_BYTES)
    if not task_id or not task_id.isprintable():
        raise Garbage("the task id is no id")
    told = _text(found, b"r", _ID_BYTES) if b"r" in found else None
    return Job(task_id, ns, queue, priority, told or None)


def _text(found: dict[bytes, bytes], field: bytes, most: int) -> str:
    if (raw := found.get(field)) is None:
        raise Garbage(f"no field {field.decode()!r}")
    if len(raw) > most:
        raise Garbage(f"field {field.decode()!r} has {len(raw)} bytes")
    try:
        return raw.decode()
    except UnicodeDecodeError:
        raise Garbage(f"field {field.decode()!r} is not UTF-8") from None


def shortened(raw: list[bytes], most: int = 4096) -> list[Any]:
    """Fields as they are kept for people who look at garbage: the first few, cut."""
    return [part[:most] for part in raw[:20]]
