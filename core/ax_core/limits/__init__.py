"""What a run may use, and how often it may do the same thing."""

from .budget import check_deadline, give_back, reserve
from .repeats import Repeats, repeats, replays

__all__ = ["Repeats", "check_deadline", "give_back", "repeats", "replays", "reserve"]
