"""Argument names: near matches for a name that is not known."""

from __future__ import annotations

from collections.abc import Iterable


def nearest(name: str, candidates: Iterable[str]) -> str:
    """The candidate that ``name`` probably means, or the empty text.

    Case, underscores, dashes and blanks do not count: ``olderThan`` is near ``older_than_days``.
    """
    import difflib

    folded = {_folded(candidate): candidate for candidate in reversed(list(candidates)[:200])}
    near = difflib.get_close_matches(_folded(name), folded, n=1)
    return folded[near[0]] if near else ""


def _folded(name: str) -> str:
    return "".join(letter for letter in name[:100].casefold() if letter not in "_- .")
