"""Dispatch: from a call to its answer."""

from .admit import admit
from .aloop import acarry_out
from .answer import Answer, verdict
from .call import Call, Submission, placed, prepare
from .choreography import Runner, bound, calling, following
from .context import Context, current
from .hands import carry_out
from .scope import Override, RunScope, current_override, current_run, current_task
from .seat import Seat
from .waiters import Waiters
from .wiring import Wiring

__all__ = [
    "Answer",
    "Call",
    "Context",
    "Override",
    "RunScope",
    "Runner",
    "Seat",
    "Submission",
    "Waiters",
    "Wiring",
    "acarry_out",
    "admit",
    "bound",
    "calling",
    "carry_out",
    "current",
    "current_override",
    "current_run",
    "current_task",
    "following",
    "placed",
    "prepare",
    "verdict",
]
