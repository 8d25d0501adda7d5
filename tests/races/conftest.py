"""Tests here start processes."""

from support.processes import nursery
from support.starting_line import start

__all__ = ["nursery", "start"]
