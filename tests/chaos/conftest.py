"""Tests here kill processes."""

from support.processes import nursery, stage, world

__all__ = ["nursery", "stage", "world"]
