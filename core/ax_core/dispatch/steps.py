"""The steps of a call, as a choreography yields them to the hands that carry them out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..decide import Outcome
from ..frozen import frozen
from ..store import Op
from .body import Body
from .live import OpenAttempt
from .record import Written
from .waiters import Waiter


@frozen(eq=False)
class Write:
    """Run a store operation in a commit; the answer is its result.

    Attributes:
        abandoned: what to write instead of going on, if the caller is cancelled while this one is under way.
    """

    op: Op[Any]
    name: str
    durable: bool = False
    abandoned: Callable[[Any], Op[Any] | None] | None = None


@frozen(eq=False)
class Look:
    """Run a store operation on a snapshot; the answer is its result."""

    op: Op[Any]


@frozen(eq=False)
class Rest:
    """Wait until a task moved, or ``seconds`` passed, or it is time to look again."""

    waiter: Waiter
    seconds: float


@frozen(eq=False)
class Enter:
    """Enter a tool's body under its claim; the answer is an :class:`Ended`.

    Attributes:
        deadline: a reading of the monotonic clock, or None.
        record: the operation that writes an outcome of this attempt.
    """

    attempt: OpenAttempt
    body: Body
    deadline: float | None
    record: Callable[[Outcome], Op[Written]]


@frozen(eq=False)
class Ended:
    """How a body ended. ``written``: it is on record already. ``error`` must go on up to the caller.

    ``outcome`` None: the store refused the record, as ``error`` says; what is on record is the open claim.
    """

    outcome: Outcome | None
    written: Written | None = None
    error: BaseException | None = None


Step = Write | Look | Rest | Enter
