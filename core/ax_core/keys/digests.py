"""Digests: the fixed-length names under which calls are kept and compared."""

from __future__ import annotations

import hashlib
from functools import lru_cache
from typing import Any

from ax_core.keys.encoding import plain
from ax_core.keys.jcs import VERSION, canonical, canonical_and_text


def digest(*parts: str | bytes) -> str:
    """64 hex digits that name this sequence of parts: ("ab", "c") is not ("a", "bc").

    Text counts as its UTF-8 bytes, compared as they are: case, accents and trailing spaces matter and length
    does not. It never fails on content; a lone surrogate is a byte sequence like any other.
    """
    pieces: list[bytes] = []
    for part in parts:
        data = part.encode("utf-8", "surrogatepass") if isinstance(part, str) else part
        pieces += (len(data).to_bytes(8, "big"), data)
    return hashlib.sha256(b"".join(pieces)).hexdigest()


def args_hash(args: Any) -> str:
    """The name of a set of arguments, 37 ASCII characters: ``jcs1:`` and 32 hex digits.

    Equal for any key order and number spelling; types that JSON lacks count as their `plain` form.

    Raises:
        NotCanonical: an argument without a stable encoding.
    """
    return _named(canonical(plain(args)))


def args_hash_and_text(args: Any) -> tuple[str, str]:
    """`args_hash` of arguments that are plain JSON values, and their JSON text in ASCII, in the order given.

    Raises:
        NotCanonical: they are no JSON values, or have no canonical form.
    """
    written, text = canonical_and_text(args)
    return _named(written), text


def _named(written: bytes) -> str:
    return (
        f"{VERSION}:{hashlib.sha256(_VERSIONED + len(written).to_bytes(8, 'big') + written).hexdigest()[:32]}"
    )


def fingerprint(tool: str, args_hash: str) -> str:
    """32 hex digits that name one tool with one set of arguments.

    Args:
        tool: the tool's identity, not the name it was called by: an alias resolves first, and tools of the
            same name from different servers carry their server in it.
    """
    name = args_hash.encode("utf-8", "surrogatepass")
    return hashlib.sha256(_begun(tool) + len(name).to_bytes(8, "big") + name).hexdigest()[:32]


def idempotency_key(*parts: str | bytes) -> str:
    """The parts as one 36-character id in the shape of a UUID, version 8 (RFC 9562)."""
    text = digest(*parts)
    variant = "89ab"[int(text[15], 16) & 3]
    return f"{text[:8]}-{text[8:12]}-8{text[12:15]}-{variant}{text[16:19]}-{text[19:31]}"


@lru_cache(maxsize=1024)
def _begun(part: str) -> bytes:
    """How `digest` begins with this part."""
    data = part.encode("utf-8", "surrogatepass")
    return len(data).to_bytes(8, "big") + data


_VERSIONED = _begun(VERSION)
