"""``axd``: the operator's command. It reads the record and carries out verbs; only `axd worker` runs tools."""

from .axd import main

__all__ = ["main"]
