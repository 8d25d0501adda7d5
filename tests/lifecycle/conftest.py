"""Tests here start processes."""

from support.processes import nursery

__all__ = ["nursery"]
