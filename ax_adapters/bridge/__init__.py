"""What every adapter shares: policies by name, refusals that end an agent, and what people decide."""

from .control import CANCEL, PENDING, STATUS, Own
from .decisions import DECISIONS, Decision, Responded, adecide, deciding
from .entered import Entered, innermost, is_entered
from .identity import Identity
from .mcp import MCP_HINTS, carry_key, check_mcp_hints, hinted, hints_in
from .newest import Newest
from .ordinals import Ordinals, ordinals
from .perform import Wants, aperform, perform
from .policies import Binding, check_names, policies_for, tell_undeclared
from .refusals import ON_REFUSAL, REFUSALS_BEFORE_RAISING, Refusals, check_on_refusal, refusals
from .shadows import Shadows

__all__ = [
    "CANCEL",
    "DECISIONS",
    "MCP_HINTS",
    "ON_REFUSAL",
    "PENDING",
    "REFUSALS_BEFORE_RAISING",
    "STATUS",
    "Binding",
    "Decision",
    "Entered",
    "Identity",
    "Newest",
    "Ordinals",
    "Own",
    "Refusals",
    "Responded",
    "Shadows",
    "Wants",
    "adecide",
    "aperform",
    "carry_key",
    "check_mcp_hints",
    "check_names",
    "check_on_refusal",
    "deciding",
    "hinted",
    "hints_in",
    "innermost",
    "is_entered",
    "ordinals",
    "perform",
    "policies_for",
    "refusals",
    "tell_undeclared",
]
