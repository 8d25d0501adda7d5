"""Tests here stop processes and let them go on."""

from support.processes import nursery, stage, world

__all__ = ["nursery", "stage", "world"]
