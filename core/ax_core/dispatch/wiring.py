"""What dispatch is made of: one frozen value, put together by the composition root."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ..clock import Clock, Micros
from ..codec import Codec
from ..control import Tell
from ..hooks import Hooks
from ..registry import Registry
from ..store import Store
from ..threads import Threads
from .live import Live
from .post import Post
from .waiters import Waiters

if TYPE_CHECKING:
    from ..decide import Outcome
    from .steps import Enter

    Isolated = Callable[[Enter, "Wiring"], Outcome]


@dataclass(frozen=True)
class Wiring:
    """Everything a call passes through.

    Attributes:
        owner: this process start, see :mod:`ax_core.owners`.
        lease: how long a claim holds without renewal.
        payload_cap: most bytes of submitted arguments.
        resources: what tools share in this process.
        post: the way to workers; None: everything runs in its caller's process.
        isolated: runs a body of ``isolation="process"`` and returns once it is over; only workers have it.
    """

    ns: str
    owner: str
    clock: Clock
    db: Store
    codec: Codec
    hooks: Hooks
    registry: Registry
    threads: Threads
    waiters: Waiters
    live: Live
    tell: Tell
    lease: Micros
    payload_cap: int
    resources: Mapping[str, Any] = field(default_factory=dict)
    post: Post | None = None
    isolated: Isolated | None = None
    log: logging.Logger = field(default_factory=lambda: logging.getLogger("ax"))
