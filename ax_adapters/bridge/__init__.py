"""What every adapter shares: policies by name, refusals that end an agent, and what people decide."""

from .control import CANCEL, PENDING, STATUS, Own
from .decisions import DECISIONS, Decision, Responded, adecide, decide
from .identity import Identity
from .ordinals import Ordinals, ordinals
from .policies import Binding, policies_for, tell_undeclared
from .refusals import ON_REFUSAL, REFUSALS_BEFORE_RAISING, Refusals, check_on_refusal, refusals

__all__ = [
    "CANCEL",
    "DECISIONS",
    "ON_REFUSAL",
    "PENDING",
    "REFUSALS_BEFORE_RAISING",
    "STATUS",
    "Binding",
    "Decision",
    "Identity",
    "Ordinals",
    "Own",
    "Refusals",
    "Responded",
    "adecide",
    "check_on_refusal",
    "decide",
    "ordinals",
    "policies_for",
    "refusals",
    "tell_undeclared",
]
