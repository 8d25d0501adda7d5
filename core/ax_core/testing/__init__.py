"""Testing tools under AX: a clock of the test's own, processes that die where the test says, effects counted.

``with ax.testing() as t:`` puts a fresh SQLite in memory and a :class:`FakeClock` in place; see docs/testing.md.
"""

from ..faults import Crash
from .block import Testing
from .clock import FakeClock

__all__ = ["Crash", "FakeClock", "Testing"]
