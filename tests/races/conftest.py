"""Tests here start processes."""

from support.starting_line import start

__all__ = ["start"]
