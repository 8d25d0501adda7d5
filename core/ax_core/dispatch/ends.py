"""Writing how an attempt ended; an end that the store does not take is kept here, and written once it does."""

from __future__ import annotations

from ..decide import Outcome
from ..errors import StoreError
from ..store import Op
from .record import Written
from .steps import Enter
from .wiring import Wiring


def write_end(step: Enter, outcome: Outcome, wiring: Wiring) -> Written:
    """Write how a body ended.

    Raises:
        StoreError: the store does not take it now; this process keeps it.
    """
    end = step.record(outcome)
    try:
        return wiring.db.write(end, "record")
    except StoreError:
        keep(end, step.attempt.row.id, wiring)
        raise


async def awrite_end(step: Enter, outcome: Outcome, wiring: Wiring) -> Written:
    """:func:`write_end` on an event loop."""
    end = step.record(outcome)
    try:
        return await wiring.db.awrite(end, "record")
    except StoreError:
        keep(end, step.attempt.row.id, wiring)
        raise


def keep(end: Op[Written], task_id: str, wiring: Wiring) -> None:
    """Keep an end that the store did not take; the watch writes it, and may do so twice."""
    wiring.live.unrecorded.append(end)
    wiring.log.warning(
        "the end of task %s could not be recorded; it is kept and written once the store takes it", task_id
    )
