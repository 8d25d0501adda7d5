"""Tools by name: registered once, reached only through here."""

from .registry import Registry
from .tool import Tool

__all__ = ["Registry", "Tool"]
