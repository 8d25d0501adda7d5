"""``axd``: the operator's command. It reads the record and carries out verbs; it never runs a tool."""

from .axd import main

__all__ = ["main"]
