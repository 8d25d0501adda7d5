"""Names that can be part of a key everywhere: of a queue, of a worker, of a deployment."""

from __future__ import annotations

import re

_NAME = re.compile(r"[A-Za-z0-9_.~-]{1,100}")


def checked_name(what: str, given: str) -> str:
    """A name as it was given.

    Raises:
        ValueError: it cannot be one.
    """
    if not isinstance(given, str) or not _NAME.fullmatch(given):
        raise ValueError(f"{what}={given!r}: letters, digits and _ . ~ - only, at most 100")
    return given
