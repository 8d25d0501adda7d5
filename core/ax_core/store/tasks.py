"""Tasks: born once, moved by guarded UPDATEs, each move with its audit entry in the same commit."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, partial
from typing import Any

from ..clock import Micros
from ..model import TaskRow
from ..states import State, may
from . import audit
from .transitions import Transition
from .tx import Tx, columns

_COLUMNS = columns(TaskRow)


def create(tx: Tx, row: TaskRow, verb: str, actor: str, detail: Mapping[str, Any] | None = None) -> TaskRow:
    """Store a new task in its first state."""
    assert may(None, State(row.state)), row.state
    born = audit.entry(row.id, 1, audit.GENESIS, row.created_at, verb, None, row.state, actor, detail)
    row = row._replace(audit_seq=1, audit_head=born.hash)
    tx.insert("ax_task", row)
    audit.append(tx, born)
    return row


def get(tx: Tx, task_id: str) -> TaskRow | None:
    """A task by its id."""
    found = tx.one(_BY_ID, task_id=task_id)
    return TaskRow(*found) if found else None


def by_request(tx: Tx, ns: str, request_id: str) -> TaskRow | None:
    """The task that a request id was recorded with."""
    found = tx.one(_BY_REQUEST, ns=ns, request_id=request_id)
    return TaskRow(*found) if found else None


def move(
    tx: Tx,
    row: TaskRow,
    transition: Transition,
    now: Micros,
    actor: str,
    told: Callable[[TaskRow], None] | None = None,
) -> TaskRow | None:
    """Move a task, if it still stands in the state and under the fence that ``row`` shows.

    Returns the row after the move, or None: somebody else moved it first. ``told`` hears of it after the commit.
    """
    target = transition.target or State(row.state)
    assert transition.target is None or may(State(row.state), target), (
        f"{row.state} -> {target} ({transition.verb})"
    )
    while True:
        step = audit.entry(
            row.id,
            row.audit_seq + 1,
            row.audit_head,
            now,
            transition.verb,
            row.state,
            target.value,
            actor,
            transition.detail,
        )
        changes = {
            **transition.changes,
            "state": target.value,
            "audit_seq": step.seq,
            "audit_head": step.hash,
        }
        moved = tx.run(
            _update(tuple(changes)),
            **changes,
            at_id=row.id,
            at_state=row.state,
            at_fence=row.fence,
            at_seq=row.audit_seq,
        )
        if moved == 1:
            audit.append(tx, step)
            row = row._replace(**changes)
            if told is not None:
                tx.then(partial(told, row))
            return row
        # Either it was moved, or only its audit grew (a cancel request, say): look which.
        fresh = get(tx, row.id)
        if fresh is None or fresh.state != row.state or fresh.fence != row.fence:
            return None
        row = fresh


@cache
def _update(names: tuple[str, ...]) -> str:
    assignments = ", ".join(f"{name} = :{name}" for name in names)
    return (
        f"UPDATE ax_task SET {assignments} "
        "WHERE id = :at_id AND state = :at_state AND fence = :at_fence AND audit_seq = :at_seq"
    )


_BY_ID = f"SELECT {_COLUMNS} FROM ax_task WHERE id = :task_id"
_BY_REQUEST = f"SELECT {_COLUMNS} FROM ax_task WHERE ns = :ns AND request_id = :request_id"
