"""Tests here kill processes."""

from support.processes import nursery, stage

__all__ = ["nursery", "stage"]
