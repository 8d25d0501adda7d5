"""Rolling a run back: what is to be undone, in which order, and what stands against it. Pure, on frozen rows."""

from __future__ import annotations

from collections.abc import Iterable, Set
from dataclasses import dataclass

from .model import TaskRow
from .states import Reason, State

ORIGIN = "compensation"
SUFFIX = ".undo"
"""The tool that undoes ``refund`` is ``refund.undo``."""

_GIVEN_UP = frozenset({State.DEAD, State.FAILED})
_OPEN = frozenset({State.QUEUED, State.WAITING, State.CONFIRMING, State.RUNNING, State.RETRY_WAIT})


@dataclass(frozen=True, slots=True)
class Plan:
    """What a rollback has before it.

    Attributes:
        open: tasks that have not ended yet; nothing is undone before they have.
        doubtful: tasks of which nobody knows whether they acted; a person must say first.
        undo: successes to undo, the last to complete first.
        failed: compensations that were given up; a person must look.
        kept: successes that have no compensation and stay as they are.
    """

    open: tuple[TaskRow, ...]
    doubtful: tuple[TaskRow, ...]
    undo: tuple[TaskRow, ...]
    failed: tuple[TaskRow, ...]
    kept: tuple[TaskRow, ...]


def plan(rows: Iterable[TaskRow], compensable: Set[str]) -> Plan:
    """Plan the rollback of a run's tasks; ``compensable`` names the tools that can be undone."""
    mine = list(rows)
    acts = [row for row in mine if row.origin != ORIGIN and row.effect != "read"]
    undone_by = {row.parent_id: row for row in mine if row.origin == ORIGIN}
    done = sorted(
        (row for row in acts if row.state == State.SUCCESS),
        key=lambda row: (row.ended_at or 0, row.id),
        reverse=True,
    )
    given_up = [row for row in done if (by := undone_by.get(row.id)) is not None and by.state in _GIVEN_UP]
    return Plan(
        open=tuple(row for row in mine if State(row.state) in _OPEN and row.origin != ORIGIN),
        doubtful=tuple(row for row in acts if _in_doubt(row))
        + tuple(r for r in undone_by.values() if _in_doubt(r)),
        undo=tuple(row for row in done if row.tool in compensable and row not in given_up),
        failed=tuple(given_up),
        kept=tuple(row for row in done if row.tool not in compensable),
    )


def _in_doubt(row: TaskRow) -> bool:
    return bool(row.maybe_applied) or (row.state == State.QUARANTINE and row.reason == Reason.OUTCOME_UNKNOWN)
