"""The repeat guard: the same call with the same result, again and again, since the last other write."""

from __future__ import annotations

from dataclasses import dataclass

from ..model import TaskRow
from ..policy import Effect
from ..store import Tx, queries

TOLD_AT = 5
TOLD_AT_READ = 20
TOLD_AT_REPLAYED = 100
"""A host that comes back with a request it knows is no model repeating itself; one that never stops is a loop."""


@dataclass(frozen=True, slots=True)
class Repeats:
    """How often a call came to the same result, this time included."""

    count: int
    told_at: int

    @property
    def told(self) -> bool:
        """Whether the model is told."""
        return self.count >= self.told_at

    @property
    def over(self) -> bool:
        """Whether the run ends."""
        return self.count >= 2 * self.told_at


def replays(row: TaskRow) -> Repeats:
    """How often one request was sent."""
    return Repeats(1 + row.replays, TOLD_AT_REPLAYED)


def repeats(tx: Tx, run_id: str, fingerprint: str, effect: Effect) -> Repeats | None:
    """The newest streak of equal calls with equal results in a run; None: not worth a thought yet.

    A call that was merged into another counts; the same request again does not.
    """
    told_at = TOLD_AT_READ if effect is Effect.READ else TOLD_AT
    rows = queries.repeats(tx, run_id, fingerprint)
    if sum(1 + row[4] for row in rows) < told_at:
        return None
    since = queries.last_other_write(tx, run_id, fingerprint)
    first = rows[0]
    count = 0
    for task_id, state, result, error, again in rows:
        if task_id < since or (state, result, error) != (first[1], first[2], first[3]):
            break
        count += 1 + (queries.merges(tx, task_id) if again else 0)
    return Repeats(count, told_at)
