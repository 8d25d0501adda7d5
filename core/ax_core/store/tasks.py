"""Tasks: born once, moved by guarded UPDATEs, each move with its audit entry in the same commit."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from typing import Any

from ..clock import Micros
from ..model import AuditRow, TaskRow
from ..states import may
from . import audit, tools
from .transitions import Transition
from .tx import Tx, columns

_COLUMNS = columns(TaskRow)


def create(tx: Tx, row: TaskRow, verb: str, actor: str, detail: Mapping[str, Any] | None = None) -> TaskRow:
    """Store a new task in its first state."""
    born, row = _born(row, verb, actor, detail)
    tx.add(row, born)
    return row


def create_claimed(tx: Tx, row: TaskRow, detail: Mapping[str, Any] | None = None) -> TaskRow | None:
    """Store a new task whose first attempt its ``owner`` has claimed, or None if its tool is paused.

    That is asked by the INSERT itself, which costs no statement.
    """
    born, row = _born(row, audit.CLAIM, row.owner or "", detail)
    if not tx.insert_unless("ax_task", row, tools.PAUSED, (row.ns, row.tool)):
        return None
    if detail is not None:  # else the row tells all of it, until the next entry is stored
        tx.insert("ax_audit", born)
    return row


def _born(row: TaskRow, verb: str, actor: str, detail: Mapping[str, Any] | None) -> tuple[AuditRow, TaskRow]:
    assert may(None, row.state), row.state
    born = audit.entry(row.id, 1, audit.GENESIS, row.created_at, verb, None, row.state, actor, detail)
    return born, row.but(audit_seq=1, audit_head=born.hash)


def get(tx: Tx, task_id: str) -> TaskRow | None:
    """A task by its id, held where it is read in order to be written."""
    found = tx.held(_BY_ID, task_id=task_id)
    return TaskRow(*found) if found else None


def look(tx: Tx, task_id: str) -> TaskRow | None:
    """A task by its id, not held: it may be moved at any moment."""
    found = tx.one(_BY_ID, task_id=task_id)
    return TaskRow(*found) if found else None


def several(tx: Tx, task_ids: Sequence[str]) -> list[TaskRow]:
    """Those tasks that are there, not held, in no order."""
    width = 1 << (len(task_ids) - 1).bit_length()  # few different texts, which drivers keep
    asked = [*task_ids] + [task_ids[-1]] * (width - len(task_ids))
    named = {f"id{at}": task_id for at, task_id in enumerate(asked)}
    return [TaskRow(*row) for row in tx.all(_several(width), **named)]


def by_request(tx: Tx, ns: str, request_id: str) -> TaskRow | None:
    """The task that a request id was recorded with."""
    found = tx.held(_BY_REQUEST, ns=ns, request_id=request_id)
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
    while True:
        changes, values, entry = _step(row, transition, now, actor)
        if tx.change(_update(tuple(changes)), values, entry, audit.unstored(row)):
            return _moved(tx, row, changes, told)
        # Either it was moved, or only its audit grew (a cancel request, say): look which.
        fresh = get(tx, row.id)
        if fresh is None or fresh.state != row.state or fresh.fence != row.fence:
            return None
        row = fresh


def move_each(
    tx: Tx,
    moves: Sequence[tuple[TaskRow, Transition]],
    now: Micros,
    actor: str,
    told: Callable[[TaskRow], None] | None = None,
) -> list[TaskRow | None]:
    """:func:`move` for several tasks that change in the same columns, in one round trip where the database has that."""
    steps = [_step(row, transition, now, actor) for row, transition in moves]
    texts = {_update(tuple(changes)) for changes, _, _ in steps}
    alike = len(texts) == 1 and not any(audit.unstored(row) for row, _ in moves)
    done = (
        tx.change_each(texts.pop(), [(values, entry) for _, values, entry in steps])
        if alike
        else [False] * len(moves)
    )
    moved: list[TaskRow | None] = []
    for did, (row, transition), (changes, _, _) in zip(done, moves, steps, strict=True):
        if did:
            moved.append(_moved(tx, row, changes, told))
        else:  # somebody was there, or only its audit grew
            moved.append(move(tx, row, transition, now, actor, told))
    return moved


def _step(
    row: TaskRow, transition: Transition, now: Micros, actor: str
) -> tuple[dict[str, Any], tuple[Any, ...], AuditRow]:
    """What changes, the values of the guarded UPDATE, and the entry in the audit."""
    target = row.state if transition.target is None else str(transition.target)
    assert transition.target is None or may(row.state, target), f"{row.state} -> {target} ({transition.verb})"
    entry = audit.entry(
        row.id,
        row.audit_seq + 1,
        row.audit_head,
        now,
        transition.verb,
        row.state,
        target,
        actor,
        transition.detail,
    )
    changes = {**transition.changes, "state": target, "audit_seq": entry.seq, "audit_head": entry.hash}
    return changes, (*changes.values(), row.id, row.state, row.fence, row.audit_seq), entry


def _moved(tx: Tx, row: TaskRow, changes: dict[str, Any], told: Callable[[TaskRow], None] | None) -> TaskRow:
    row = row.but(**changes)
    if told is not None:
        tx.then(partial(told, row))
    return row


@cache
def _update(names: tuple[str, ...]) -> str:
    assignments = ", ".join(f"{name} = ?" for name in names)
    return f"UPDATE ax_task SET {assignments} WHERE id = ? AND state = ? AND fence = ? AND audit_seq = ?"


@cache
def _several(count: int) -> str:
    return f"SELECT {_COLUMNS} FROM ax_task WHERE id IN ({', '.join(f':id{at}' for at in range(count))})"


_BY_ID = f"SELECT {_COLUMNS} FROM ax_task WHERE id = :task_id"
_BY_REQUEST = f"SELECT {_COLUMNS} FROM ax_task WHERE ns = :ns AND request_id = :request_id"
