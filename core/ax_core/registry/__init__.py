"""Tools by name: registered once, reached only through here."""

from .registry import Registry
from .tool import Promise, Tool

__all__ = ["Promise", "Registry", "Tool"]
