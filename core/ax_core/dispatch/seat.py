"""The answer of admission: where a call found itself."""

from __future__ import annotations

from ..errors import AXError
from ..frozen import frozen
from ..model import TaskRow


@frozen()
class Seat:
    """Where a call found itself.

    Attributes:
        row: the task that answers it; None where the call was refused before there was one.
        claimed: this caller holds the fence and must run the body now.
        how: ``new``, ``replayed``, ``attached``, ``merged`` or ``in_the_way``.
        refusal: raised to the caller after the commit.
        note: what the model is to be told besides the answer.
    """

    row: TaskRow | None
    claimed: bool = False
    how: str = "new"
    refusal: AXError | None = None
    note: str | None = None
    also: tuple[str, ...] = ()
