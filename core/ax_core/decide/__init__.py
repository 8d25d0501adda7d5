"""What an ending means: pure decisions on frozen data, the ending table of the semantics page as code."""

from .delays import delay
from .endings import POISON, SUCCEEDED, Decision, Facts, decide
from .outcomes import (
    DidNotHappen,
    Happened,
    Lost,
    Outcome,
    Paused,
    Raised,
    Returned,
    Stopped,
    TimedOut,
    Unknown,
)

__all__ = [
    "POISON",
    "SUCCEEDED",
    "Decision",
    "DidNotHappen",
    "Facts",
    "Happened",
    "Lost",
    "Outcome",
    "Paused",
    "Raised",
    "Returned",
    "Stopped",
    "TimedOut",
    "Unknown",
    "decide",
    "delay",
]
